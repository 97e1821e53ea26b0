"""Figure 4: with P = 128 examples wider models train faster but saturate, and overfitting builds up."""

from __future__ import annotations

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Reproduction, Row, by_draw, loglog_figure, verdict
from scalinglab.theory import dmft
from scalinglab_papers.bordelon2024 import common

DATA = {"smoke": 32, "laptop": 128}
SIZES = {"smoke": (16, 64), "laptop": (32, 64, 256, 512, 1024)}


def _curves(scale: str, figure: int) -> Curves:
    times, simulated = np.geomspace(0.3, 1e4, 60), np.geomspace(0.3, 1e4, 12)
    settings = [{"n_params": n, "n_data": DATA[scale]} for n in SIZES[scale]]
    draws = {"smoke": 12, "laptop": 40}[scale]
    return common.theory_and_simulation(common.power_law(scale), settings, times, simulated, draws, figure)


def fig4a(scale: str) -> Reproduction:
    """Test loss at fixed data and several N."""
    curves, sizes, size = _curves(scale, 40), SIZES[scale], DATA[scale]
    figure, axis = loglog_figure("time t", "test loss", f"P = {size}: diminishing returns of N")
    common.draw(axis, curves, "n_params", sizes, name="N")
    style.headroom(axis, 0.15)
    axis.legend(loc="upper right", ncols=3, columnspacing=1)
    spectrum = common.power_law(scale)
    final = [dmft.final(spectrum, ratio * size, size).test_loss for ratio in (2, 4, 8, 16)]
    gains = [1 - final[1] / final[0], 1 - final[3] / final[2]]
    small, large = sizes[0], sizes[-1]
    wider = verdict.ratio(
        common.loss_at(curves, 30, n_params=large),
        common.loss_at(curves, 30, n_params=small),
    )
    best = dmft.optimal_stopping(spectrum, sizes[1], size).time
    stopped = _paired(curves, "test_loss", best, 1e4, n_params=sizes[1])
    table = (
        wider.row(
            f"wider trains faster: test loss at N = {large} over that at N = {small}, t ≈ 30", expected=1.0,
            relation="<", note="simulation",
        ),
        Row(
            "diminishing returns: what doubling N from 8P gains in final loss, over what it gains from 2P",
            gains[1] / gains[0], verdict.NUMERICAL, expected=1.0, relation="<",
            note=f"theory: {gains[1]:.1%} and {gains[0]:.1%}",
        ),
        stopped.row(
            f"loss not monotonic in time: test loss at t ≈ {best:.3g} over that at 1e4, N = {sizes[1]}",
            expected=1.0, relation="<", note="simulation, at the time that is best in theory",
        ),
        *common.agreement(curves, common.extreme_sizes("n_params", sizes)),
    )  # fmt: skip
    return Reproduction(curves, figure, table)


def _paired(curves: Curves, y: str, early: float, late: float, **setting: float) -> verdict.Number:
    """Mean loss at one simulated time over that at another; both are of the same draws."""
    times, losses = by_draw(curves.select(source="simulate", **setting).frame, "time", y)
    return verdict.quotient(*(losses[:, np.argmin(abs(np.log(times / t)))] for t in (early, late)))


def fig4b(scale: str) -> Reproduction:
    """Train loss at fixed data and several N."""
    curves, sizes, size = _curves(scale, 41), SIZES[scale], DATA[scale]
    figure, axis = loglog_figure("time t", "train loss", f"P = {size}: zero train loss needs N > P")
    common.draw(axis, curves, "n_params", sizes, "train_loss", name="N")
    axis.set_ylim(1e-8, 10)
    axis.legend()
    small, large = sizes[0], sizes[-1]
    frame = curves.select(source="simulate", n_params=small).frame
    late = frame[frame["time"] == frame["time"].max()]
    left = verdict.quotient(late["train_loss"].to_numpy(), late["test_loss"].to_numpy())
    spectrum = common.power_law(scale)
    until = {"smoke": 4e3, "laptop": 4e4}[scale]
    rates = [_decay(spectrum, n, size, until) for n in (large, 2 * large)]
    found = verdict.limit(rates[1] / rates[0])
    table = (
        left.row(
            f"N = {small} < P cannot reach zero: final train over test loss",
            expected=(1 - small / size) ** 2, note="simulation; expected: (1 − N/P)², the theory",
        ),
        found.row(
            f"N > P: rate of exponential decay at N = {2 * large} over that at N = {large}",
            expected=1.0, relation=">",
            note=f"theory; the paper: the rate depends on N; at N = {large} it is {rates[0][-1]:.3g}",
        ),
        *common.agreement(curves, common.extreme_sizes("n_params", sizes), "train_loss", until=30.0),
    )  # fmt: skip
    return Reproduction(curves, figure, table)


def _decay(spectrum: Spectrum, n_params: float, n_data: float, until: float) -> np.ndarray:
    """−d ln(train loss)/dt over three times that double up to `until`."""
    times = until / np.array([8.0, 4.0, 2.0, 1.0])
    late = dmft.solve(spectrum, times, n_params, n_data).train_loss
    return -np.diff(np.log(late)) / np.diff(times)


def fig4c(scale: str) -> Reproduction:
    """The gap of test and train loss at several P."""
    sizes = {"smoke": (16, 64), "laptop": (32, 64, 128, 256, 512)}[scale]
    n_params = {"smoke": 64, "laptop": 512}[scale]
    times, simulated = np.geomspace(0.1, 1e4, 60), np.geomspace(0.1, 1e4, 10)
    draws = {"smoke": 20, "laptop": 80}[scale]
    settings = [{"n_params": n_params, "n_data": p} for p in sizes if p != n_params]
    curves = common.theory_and_simulation(common.power_law(scale), settings, times, simulated, draws, 42)
    frame = curves.frame.assign(gap=curves.frame["test_loss"] - curves.frame["train_loss"])
    curves = Curves(frame, settings=curves.settings)
    sizes = tuple(p for p in sizes if p != n_params)
    figure, axis = loglog_figure("time t", "test − train loss", f"N = {n_params}: overfitting builds up")
    common.draw(axis, curves, "n_data", sizes, "gap", name="P")
    axis.legend()
    far = np.geomspace(1e3, 1e6, 4)
    early = np.array([float(dmft.solve(common.power_law(scale), 0.3, n_params, p).gap) for p in far])
    grown = _paired(curves, "gap", 100.0, 1.0, n_data=sizes[0])
    table = (
        common.slope_row("slope of the early gap in P (t = 0.3)", -1.0, far, early, "theory, eq. 17"),
        grown.row(
            f"the losses separate: gap at t ≈ 100 over that at t ≈ 1, P = {sizes[0]}", expected=1.0,
            relation=">", note="simulation",
        ),
        *common.agreement(curves, common.extreme_sizes("n_data", sizes), "gap", until=1e3),
    )  # fmt: skip
    return Reproduction(curves, figure, table)
