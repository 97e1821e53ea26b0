"""Figure 4: with P = 128 examples wider models train faster but saturate, and overfitting builds up."""

from __future__ import annotations

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.papers.bordelon2024 import common
from scalinglab.papers.registry import Reproduction, Row
from scalinglab.theory import dmft

DATA = {"smoke": 32, "laptop": 128}
SIZES = {"smoke": (16, 64), "laptop": (32, 64, 256, 512, 1024)}


def _curves(scale: str) -> Curves:
    times, simulated = np.geomspace(0.3, 1e4, 60), np.geomspace(0.3, 1e4, 12)
    settings = [{"n_params": n, "n_data": DATA[scale]} for n in SIZES[scale]]
    draws = {"smoke": 6, "laptop": 20}[scale]
    return common.both(common.power_law(scale), settings, times, simulated, draws)


def fig4a(scale: str) -> Reproduction:
    """Test loss at fixed data and several N."""
    curves, sizes = _curves(scale), SIZES[scale]
    figure, axes = style.panels()
    axis = style.loglog(axes[0, 0], "time t", "test loss", f"P = {DATA[scale]}: diminishing returns of N")
    common.draw(axis, curves, "n_params", sizes, name="N")
    style.headroom(axis, 0.15)
    axis.legend(loc="upper right", ncols=3, columnspacing=1)
    spectrum = common.power_law(scale)
    final = [dmft.final(spectrum, ratio * DATA[scale], DATA[scale]).test_loss for ratio in (2, 4, 8, 16)]
    gains = [1 - final[1] / final[0], 1 - final[3] / final[2]]
    best = [dmft.optimal_stopping(spectrum, n, DATA[scale]).test_loss for n in sizes]
    faster = [float(common.theory(curves, n_params=n)["test_loss"].iloc[30]) for n in sizes]
    table = (
        Row(
            "wider trains faster: test loss at t = "
            f"{common.theory(curves, n_params=sizes[0])['time'].iloc[30]:.3g} falls with N",
            "yes", "yes" if np.all(np.diff(faster) < 0) else "no", agrees=bool(np.all(np.diff(faster) < 0)),
        ),
        Row(
            "doubling N lowers the final loss by, from 2P and from 8P", "diminishing returns",
            f"{gains[0]:.1%}, {gains[1]:.1%}", agrees=gains[1] < gains[0] / 2, note="theory",
        ),
        Row(
            "early stopping helps at N = " + str(sizes[1]), "loss not monotonic in time",
            best[1] / dmft.final(spectrum, sizes[1], DATA[scale]).test_loss,
            agrees=best[1] < dmft.final(spectrum, sizes[1], DATA[scale]).test_loss,
            note="best loss over final loss, theory",
        ),
        common.agreement(curves, allowed=0.06),
    )  # fmt: skip
    return Reproduction(curves, figure, table)


def fig4b(scale: str) -> Reproduction:
    """Train loss at fixed data and several N."""
    curves, sizes, size = _curves(scale), SIZES[scale], DATA[scale]
    figure, axes = style.panels()
    axis = style.loglog(axes[0, 0], "time t", "train loss", f"P = {size}: zero train loss needs N > P")
    common.draw(axis, curves, "n_params", sizes, "train_loss", name="N")
    axis.set_ylim(1e-8, 10)
    axis.legend()
    spectrum = common.power_law(scale)
    rows = []
    for n in (sizes[0], sizes[-1]):
        end = dmft.final(spectrum, n, size)
        if n < size:
            rows.append(
                Row(
                    f"N = {n} < P: final train over test loss", "not zero", end.train_loss / end.test_loss,
                    agrees=end.train_loss > 0, note="(1 − N/P)² exactly, in theory",
                )
            )  # fmt: skip
        else:
            times = np.array([2e4, 4e4])
            late = dmft.solve(spectrum, times, n, size).train_loss
            rate = -float(np.diff(np.log(late))[0] / np.diff(times)[0])
            slow = dmft.solve(spectrum, times, 2 * n, size).train_loss
            faster = -float(np.diff(np.log(slow))[0] / np.diff(times)[0])
            rows.append(
                Row(
                    f"N = {n} > P: rate of exponential decay, and at 2N", "exponential, depends on N",
                    f"{rate:.4g}, {faster:.4g}", agrees=0 < rate < faster, note="theory, t from 2e4 to 4e4",
                )
            )  # fmt: skip
    agreement = common.agreement(curves, "train_loss", until=30.0, allowed=0.06)
    return Reproduction(curves, figure, (*rows, agreement))


def fig4c(scale: str) -> Reproduction:
    """The gap of test and train loss at several P."""
    sizes = {"smoke": (16, 64), "laptop": (32, 64, 128, 256, 512)}[scale]
    n_params = {"smoke": 64, "laptop": 512}[scale]
    times, simulated = np.geomspace(0.1, 1e4, 60), np.geomspace(0.1, 1e4, 10)
    draws = {"smoke": 20, "laptop": 80}[scale]
    settings = [{"n_params": n_params, "n_data": p} for p in sizes if p != n_params]
    curves = common.both(common.power_law(scale), settings, times, simulated, draws)
    frame = curves.frame.assign(gap=curves.frame["test_loss"] - curves.frame["train_loss"])
    curves = Curves(frame, settings=curves.settings)
    sizes = tuple(p for p in sizes if p != n_params)
    figure, axes = style.panels()
    axis = style.loglog(
        axes[0, 0],
        "time t",
        "test − train loss",
        f"N = {n_params}: overfitting builds up",
    )
    common.draw(axis, curves, "n_data", sizes, "gap", name="P")
    axis.legend()
    early = [float(dmft.solve(common.power_law(scale), 0.3, n_params, p).gap) for p in (1e4, 1e5)]
    slope = common.log_slope(np.array([1e4, 1e5]), np.array(early))[0]
    grows = [bool(np.all(np.diff(common.theory(curves, n_data=p)["gap"]) > -1e-12)) for p in sizes]
    table = (
        common.slope_row("slope of the early gap in P (t = 0.3)", -1.0, slope, 0.01, note="theory, eq. 17"),
        Row("the gap grows with time at every P", "yes", "yes" if all(grows) else "no", agrees=all(grows)),
        common.agreement(curves, "gap", until=1e3, allowed=0.08),
    )
    return Reproduction(curves, figure, table)
