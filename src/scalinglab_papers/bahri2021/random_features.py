"""Figs. 3 and 4: random ReLU features of pooled images in all four regimes, and their kernel's spectrum.

Every loss is averaged over the teacher exactly. The resolution-limited ones take the other size to be
infinite: infinitely many features by the closed form of the kernel, infinite data by the mean over the
population of images. The variance-limited ones are excesses over exact limits, (4) and (5).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate import random_features as simulate
from scalinglab.spectrum import Spectrum, TailExponent
from scalinglab.spectrum.samples import unresolved_eigenvalue
from scalinglab.studies import Number, Reproduction, Row, loglog_figure, shared, verdict
from scalinglab.studies.draws import as_frame, draw_means, draw_power
from scalinglab.support.work import track
from scalinglab.theory import infinite_width
from scalinglab.theory import random_features as theory
from scalinglab_papers.bahri2021 import linear

VARIANCE = ("variance-limited in data", "variance-limited in features")
RESOLUTION = ("resolution-limited in data", "resolution-limited in features")


# --- measuring -----------------------------------------------------------------------------------------


def kernel_of(x: np.ndarray, other: np.ndarray | None = None) -> np.ndarray:
    """The mean product of two inputs' random features, in the limit of many."""
    return infinite_width.nngp(x, other, depth=linear.DEPTH) / 2


def random_table(x: np.ndarray, n_features: int, seed: int) -> np.ndarray:
    """Features of a random network at the inputs, (inputs, features)."""
    return simulate.relu_features(x, n_features, depth=linear.DEPTH, width=1024, seed=seed)


def variance_limited(
    table: np.ndarray, fixed: int, sizes: np.ndarray, draws: int
) -> tuple[np.ndarray, float]:
    """Excess losses over the limit (draws, sizes), and the coefficient of 1/size of the theory.

    Args:
        table: features of the population, (points, features): rows are drawn, the first `fixed` columns are
            the student's, all columns are the teacher's. The transposed table exchanges data and features.
    """
    root = theory.square_root(table.T @ table / len(table))
    pool = simulate.FeaturePool(table[:, :fixed], root[:, :fixed], table, root, data="replace")
    losses = simulate.sweep(pool, sizes, fixed, draws=draws).frame["test_loss"].to_numpy()
    projection = np.eye(table.shape[1])[:fixed]
    excess = losses.reshape(draws, len(sizes)) - theory.loss(root, projection=projection)
    return excess, theory.data_correction(table, projection)


def resolved_by_features(x: np.ndarray, sizes: np.ndarray, draws: int) -> np.ndarray:
    """(4) for every P: what is left of the kernel's trace outside the span of P random features."""
    losses = np.empty((draws, len(sizes)))
    for i in range(draws):
        basis = np.linalg.qr(random_table(x, int(sizes[-1]), 1000 + i))[0]
        trace, explained = 0.0, np.zeros(basis.shape[1])
        for rows in np.array_split(np.arange(len(x)), max(1, len(x) // 1000)):
            block = kernel_of(x[rows], x)
            trace += float(block[np.arange(len(rows)), rows].sum())
            explained += np.einsum("ip,ip->p", basis[rows], block @ basis)
        losses[i] = (trace - np.cumsum(explained)[sizes - 1]) / len(x)
    return losses


def tail(sampled: np.ndarray, window: tuple[int, int]) -> tuple[np.ndarray, TailExponent]:
    """Eigenvalues of the kernel and the exponent of their tail, from those on a sample of images."""
    # to zeroth order in k/n: windows reach beyond the modes for which the first order is good
    values = (sampled - unresolved_eigenvalue(sampled))[: window[1] + window[1] // 2]
    return values, Spectrum(values, values).tail_exponent(window=window)


@shared
def measured(scale: str) -> tuple[Curves, dict[int, tuple[np.ndarray, TailExponent]], dict[int, list[float]]]:
    """All four regimes of every pool size, the spectra, and the theory's coefficients of 1/D and 1/P."""
    s = linear.SCALES[scale]
    varied, resolved = np.array(s.varied), np.array(s.resolved)
    frames, spectra, coefficients = [], {}, {}

    def keep(
        regime: str, pool: int, sizes: np.ndarray, losses: np.ndarray, column: str, other: float
    ) -> None:
        fixed = {"n_params" if column == "n_data" else "n_data": other}
        common = {"dataset": s.dataset, "pool": pool, "regime": regime, **fixed}
        frames.append(as_frame(sizes, losses, column, **common))

    for pool in track(s.pools, "pool sizes"):
        x = linear.pooled_images(s.dataset, pool, s.n_images)
        kernel = kernel_of(x)
        sampled = np.linalg.eigvalsh(kernel / len(x))[::-1]
        spectra[pool] = sampled, tail(sampled, s.window)[1]
        in_data, c_data = variance_limited(random_table(x, s.n_features, pool), s.fixed, varied, 4 * s.draws)
        dual = random_table(x[: s.n_features], len(x), pool).T
        in_features, c_features = variance_limited(dual, s.fixed, varied, 4 * s.draws)
        coefficients[pool] = [c_data, c_features]
        keep(VARIANCE[0], pool, varied, in_data, "n_data", s.fixed)
        keep(VARIANCE[1], pool, varied, in_features, "n_params", s.fixed)
        few = max(4, s.draws // 3)
        by_data = simulate.nested_loss(kernel, resolved, draws=s.draws // 2)
        keep(RESOLUTION[0], pool, resolved, by_data, "n_data", np.inf)
        keep(RESOLUTION[1], pool, resolved, resolved_by_features(x, resolved, few), "n_params", np.inf)
    table = pd.concat(frames, ignore_index=True)
    return Curves(table, settings=["pool", "regime"], source="simulate"), spectra, coefficients


def losses_of(curves: Curves, regime: str, pool: int) -> tuple[np.ndarray, np.ndarray]:
    """Sizes, and losses (draws, sizes), of one regime and pool size."""
    frame = curves.frame
    part = frame[(frame["regime"] == regime) & (frame["pool"] == pool)]
    column = "n_data" if regime.endswith("data") else "n_params"
    sizes = np.unique(part[column].to_numpy())
    return sizes, part["test_loss"].to_numpy().reshape(-1, len(sizes))


def exponents_of(curves: Curves, regime: str, pools: tuple[int, ...]) -> dict[int, Number]:
    """The exponent of a regime for every pool size; variance-limited ones where size ≥ 16 × the fixed one."""
    found = {}
    for pool in pools:
        sizes, losses = losses_of(curves, regime, pool)
        used = slice(1, None) if regime in VARIANCE else slice(None)  # the first carries the 1/size² term
        found[pool] = linear.exponent(sizes[used], losses[:, used])
    return found


# --- Fig. 3 --------------------------------------------------------------------------------------------


def fig3(scale: str) -> Reproduction:
    """Random-feature models show all four scaling regimes."""
    s = linear.SCALES[scale]
    curves, _, coefficients = measured(scale)
    figure, axes = style.panels(2, 2, size=(4.4, 3.3))
    layout = {VARIANCE[0]: (0, 0), RESOLUTION[0]: (0, 1), RESOLUTION[1]: (1, 0), VARIANCE[1]: (1, 1)}
    rows: list[Row] = []
    for regime, place in layout.items():
        found = exponents_of(curves, regime, s.pools)
        limited = regime in VARIANCE
        symbol = "D" if regime.endswith("data") else "P"
        other = "P" if symbol == "D" else "D"
        excess = f"L(D, P) − L({other})" if limited else f"L({symbol})"
        fixed_at = f"{other} = {s.fixed}" if limited else f"{other} = ∞"
        style.loglog(
            axes[place], f"{'examples D' if symbol == 'D' else 'features P'}", excess, f"{regime}, {fixed_at}"
        )
        for pool, color in zip(s.pools, style.colors(s.pools)):
            theory_line = coefficients[pool][VARIANCE.index(regime)] if limited else None
            sizes, losses = losses_of(curves, regime, pool)
            if theory_line is None:
                draw_power(axes[place], sizes, losses, found[pool].value, color, f"{pool}: {found[pool]}")
            else:
                draw_means(axes[place], sizes, losses, color=color, label=f"{pool}: {found[pool]}")
                axes[place].plot(sizes, theory_line / sizes, color=color, lw=1.2)
            if limited:
                rows += _variance_rows(curves, regime, pool, theory_line)
        style.legend(axes[place], title="pool: exponent")
    return Reproduction(curves, figure, tuple(rows))


def _variance_rows(curves: Curves, regime: str, pool: int, coefficient: float | None) -> list[Row]:
    """The exponent at the largest sizes against 1, and the coefficient of 1/size against the theory."""
    sizes, excess = losses_of(curves, regime, pool)
    found = linear.exponent(sizes[-3:], excess[:, -3:])
    # excess = c/size + d/size²: the intercept of excess · size against 1/size, for each draw
    intercepts = np.polyfit(1 / sizes[1:], (excess * sizes)[:, 1:].T, 1)[1]
    ratio = verdict.mean(intercepts / coefficient)
    return [
        found.row(f"{regime}, pool {pool}: exponent", paper=1.0, note="at the three largest sizes"),
        ratio.row(
            f"{regime}, pool {pool}: coefficient of 1/size over that of the theory", expected=1.0,
            note="expected: the leading contribution, our derivation",
        ),
    ]  # fmt: skip


# --- Fig. 4 --------------------------------------------------------------------------------------------


def fig4_left(scale: str) -> Reproduction:
    """Data and parameter exponents against the exponent of the kernel's spectrum."""
    s = linear.SCALES[scale]
    curves, spectra, _ = measured(scale)
    figure, axes = style.panels(size=(4.6, 4.0))
    axis, rows = axes[0, 0], []
    axis.set(
        xlabel="spectrum's exponent α_K", ylabel="loss exponent", title=f"{s.dataset}, one point a pool size"
    )
    names = {"α_D (data)": RESOLUTION[0], "α_P (features)": RESOLUTION[1]}
    for (name, regime), color, marker in zip(names.items(), style.PALETTE, "os"):
        found = exponents_of(curves, regime, s.pools)
        for i, pool in enumerate(s.pools):
            sampled, slope = spectra[pool]
            x = slope.value - 1
            horizontal = [[x - (slope.low - 1)], [slope.high - 1 - x]]
            style.points(
                axis, [x], [found[pool].value], [found[pool].stderr], xerr=horizontal, color=color,
                fmt=marker, label=name if i == 0 else None,
            )  # fmt: skip
            sizes, _ = losses_of(curves, regime, pool)
            expected = linear.expected_exponent(sizes, sampled, unseen=regime == RESOLUTION[0])
            note = (
                "expected: eq. S12 with the spectrum of the same images at the same sizes, by the same fit; "
            )
            note += f"the paper: α_K at large sizes, here {x:.3f}"
            rows.append(found[pool].row(f"{name}, pool {pool}", expected=expected, note=note))
    end = 1.15 * max(slope.high - 1 for _, slope in spectra.values())
    axis.plot([0, end], [0, end], color=style.INK, ls="--", lw=1, label="α = α_K")
    style.legend(axis)
    return Reproduction(curves, figure, tuple(rows))


def fig4_right(scale: str) -> Reproduction:
    """Kernel spectra of pooled images, each of several sets of images."""
    s = linear.SCALES[scale]
    figure, axis = loglog_figure(
        "mode k", "eigenvalue λ_k", f"kernels of random networks on {s.dataset}", size=(5.2, 4.0)
    )
    rows, frames = [], []
    for pool, color in zip(s.pools, style.colors(s.pools)):
        found = [_spectrum(s, pool, place) for place in range(SETS)]
        values, slope = found[0]
        k = np.arange(1, len(values) + 1)
        frames.append(pd.DataFrame({"dataset": s.dataset, "pool": pool, "mode": k, "eigenvalue": values}))
        mean = verdict.mean([tail.value - 1 for _, tail in found])
        axis.plot(k, values, color=color, lw=1.8, label=f"pool {pool}: 1 + α_K = {1 + mean.value:.2f}")
        inside = slice(slope.window[0] - 1, slope.window[1])
        law = style.through_middle(k[inside], values[inside], -slope.value)
        axis.plot(k[inside], law, color=style.INK, ls="--", lw=1)
        bend = verdict.mean([_bend(v, slope.window) for v, _ in found])
        where = f"modes {slope.window[0]}–{slope.window[1]}; n counts sets of images"
        rows += [
            mean.row(f"α_K, pool {pool}", note=where),
            bend.row(
                f"pool {pool}: local exponent in the second half of the window less that in the first",
                expected=0.0, resolution=0.1 * (1 + mean.value), note=f"the paper: a power law; {where}",
            ),
        ]  # fmt: skip
    style.legend(axis)
    table = pd.concat(frames, ignore_index=True)
    return Reproduction(Curves(table, settings=["pool"], source="simulate"), figure, tuple(rows))


SETS = 4  # disjoint sets of images


def _spectrum(s: linear.Scale, pool: int, place: int) -> tuple[np.ndarray, TailExponent]:
    count = s.n_images if s.dataset != "digits" else s.n_images // 3  # the digits are few
    x = linear.pooled_images(s.dataset, pool, count, place * count)
    return tail(np.linalg.eigvalsh(kernel_of(x) / len(x))[::-1], s.window)


def _bend(values: np.ndarray, window: tuple[int, int]) -> float:
    """How much steeper a spectrum is in the second half of a window, in ln k, than in the first."""
    k = np.arange(1, len(values) + 1)
    middle = np.sqrt(window[0] * window[1])
    halves = ((k >= window[0]) & (k <= middle), (k >= middle) & (k <= window[1]))
    first, second = (np.polyfit(np.log(k[part]), np.log(values[part]), 1)[0] for part in halves)
    return float(first - second)
