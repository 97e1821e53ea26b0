"""Solvable models beyond the source papers: exponents side by side, and what the solvers cost.

    python benchmarks/theory.py            # all tables, about five minutes on one core
    python benchmarks/theory.py bars
    python benchmarks/theory.py exponents
    python benchmarks/theory.py multi_pass
    python benchmarks/theory.py batches
    python benchmarks/theory.py cost

Bars: what is asked of the solvers, and what they reach. Exponents: theory (the paper's formula), the solver
far out, and over the range of a simulation the solver and the simulation with its standard error. SGD on a
fixed data set: 24 settings, solved and simulated. Batches: one-pass SGD on trained features at ten
settings. Costs: CPU seconds and the peak memory of Python objects, side by side with panels of mean-field
theory, the direct T × T recipe and simulations (more of the recipe in benchmarks/dmft.py).
"""

from __future__ import annotations

import math
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

import scalinglab as sl
from scalinglab.simulate import feature_learning as trained_features
from scalinglab.simulate import sparse_features as drawn_features
from scalinglab.simulate.random_features import train
from scalinglab.theory import dmft, feature_learning, one_pass, sparse_features
from scalinglab_papers.theory import phases as phase_entry
from scalinglab_papers.theory import sign_descent as sign_entry


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """−d ln y/d ln x between the first and the last point."""
    return float(-np.log(y[-1] / y[0]) / np.log(x[-1] / x[0]))


def drawn_slope(x: np.ndarray, draws: np.ndarray) -> tuple[float, float]:
    """The same of the mean of draws (draws, points), with the error of leaving one out."""
    whole = slope(x, draws.mean(0))
    parts = [slope(x, np.delete(draws, i, 0).mean(0)) for i in range(len(draws))]
    return whole, float(np.std(parts) * math.sqrt(len(parts) - 1))


def table(curves: sl.Curves) -> np.ndarray:
    """Losses (draws, times)."""
    return curves.frame.pivot(index="seed", columns="time", values="test_loss").to_numpy()


def phases_rows() -> None:
    points = {
        "Ia": (0.8, 0.3), "Ib": (0.35, 0.35), "Ic": (0.2, 0.9), "II": (1.0, 0.7), "III": (0.7, 1.2),
        "IVa": (0.4, 0.9), "IVb": (0.255, 1.5),
    }  # fmt: skip
    for name, point in points.items():
        predicted = one_pass.phases.phase(*point)
        found = one_pass.phases.compute_optimal(*point, [1e15, 1e18])
        loss, size, _ = found.local_exponents()
        row(f"SGD, phase {name}, loss in compute", predicted.loss, loss[-1])
        row(f"SGD, phase {name}, size in compute", predicted.size, size[-1])


def optimizer_rows() -> None:
    far, near = np.array([1e11, 1e12]), np.array([30, 300])
    spectrum, small = sl.Spectrum.power_law(2.5, 1.5, 10**14), sl.Spectrum.power_law(2.5, 1.5, 1000)
    for name, optimizer, theory in (
        ("SGD", one_pass.OnePassSGD(0.2, 1), 1.0),
        ("heavy ball 0.9", one_pass.HeavyBall(0.02, 1, 0.9), 1.0),
        ("adapted momentum", one_pass.AdaptedMomentum(0.1, 1, 0.05, 1 / 1.5), 2 - 1 / 1.5),
    ):
        solved = one_pass.solve(spectrum, far, optimizer).test_loss
        range_ = one_pass.solve(small, near, optimizer).test_loss
        draws = table(train(small, near, dynamics=optimizer, draws=100))
        row(f"{name} in steps", theory, slope(far, solved), slope(near, range_), drawn_slope(near, draws))


TASKS = ((1.3, 1.5), (1.6, 1.5), (1.5, 2.0), (1.9, 1.2), (2.6, 1.4), (3.0, 1.5))  # exponents a, b


def feature_rows() -> None:
    far = np.array([1e8, 1e9])
    for task, spectral in TASKS:
        solved = feature_learning.solve(sl.Spectrum.power_law(task, spectral, 10**30), far).test_loss
        near, found, error, _ = simulated_exponent(task, spectral)
        theory = feature_learning.exponents(task, spectral)[0]
        row(f"trained features, β = {(task - 1) / spectral:.2f}, in time", theory, slope(far, solved), near,
            (found, error))  # fmt: skip


def simulated_exponent(
    task: float, spectral: float, draws: int = 48, trained: int = 2
) -> tuple[float, float, float, float]:
    """Exponent of trained features from t = 3 to 300, solved and simulated, with its standard error.

    A draw of projections, solved, has the loss of its network with all weights trained. The difference, whose
    largest is the fourth number, is measured on `trained` draws and taken into account, so that the mean over
    draws is that of many trained networks.
    """
    size, near = 128, np.array([3.0, 300.0])
    spectrum = sl.Spectrum.power_law(task, spectral, 300)
    each = np.array([feature_learning.solve(spectrum, near, 1.0, size,
                                            features=one_pass.drawn_modes(spectrum, size, i)).test_loss
                     for i in range(draws)])  # fmt: skip
    ratio = table(trained_features.train(spectrum, near, 1.0, size, draws=trained)) / each[:trained]
    found, error = drawn_slope(near, each * ratio.mean(0))
    solved = slope(near, feature_learning.solve(spectrum, near, 1.0, size).test_loss)
    return solved, found, error, float(np.abs(ratio - 1).max())


def sparse_rows() -> None:
    near = np.array([64, 256])
    for exponent in (0.0, 0.5, 0.8, 1.0, 1.3, 2.0):
        given = sparse_features.zipf(10_000, exponent)
        solved = [sparse_features.superposition.strong(given, m) for m in (*near, 1024, 4096)]
        draws = np.array([[drawn_features.superposition(given, m, examples=40, seed=s).mean() for m in near]
                          for s in range(12)])  # fmt: skip
        far = slope(np.array([1024, 4096]), np.array(solved[2:]))
        row(f"strong superposition, frequencies i^-{exponent:g}", 1.0, far, slope(near, np.array(solved[:2])),
            drawn_slope(near, draws))  # fmt: skip
    for gain in (0.7, 1.0):
        many, few = sparse_features.zipf(10**6, 1 + gain), sparse_features.zipf(3000, 1 + gain)
        far, near = np.array([1e4, 1e5]), np.array([1000, 4000])
        solved, range_ = (
            np.array([sparse_features.quanta.error(p, d) for d in at]) for p, at in ((many, far), (few, near))
        )
        draws = np.array([[drawn_features.parities(few, int(d), tests=2000, seed=s).mean() for d in near]
                          for s in range(12)])  # fmt: skip
        row(f"quanta, a = {gain:g}, in data", gain / (1 + gain), slope(far, solved), slope(near, range_),
            drawn_slope(near, draws))  # fmt: skip


def row(
    name: str,
    theory: float,
    solver: float,
    near: float | None = None,
    drawn: tuple[float, float] | None = None,
) -> None:
    range_ = "" if near is None else f"{near:10.4f}"
    simulated = "" if drawn is None else f"{drawn[0]:10.4f} ± {drawn[1]:.4f}"
    differs = f"{100 * (solver / theory - 1):+7.2f} %"
    print(f"{name:<46} {theory:8.4f} {solver:8.4f} {differs} {range_:>10} {simulated:>19}", flush=True)


def exponents() -> None:
    print(f"{'':<46} {'theory':>8} {'solver':>8} {'differs':>9} {'in range':>10} {'simulated there':>19}")
    phases_rows()
    optimizer_rows()
    feature_rows()
    sparse_rows()


def multi_pass_settings() -> list[tuple[str, float, float, float, dmft.MultiPassSGD]]:
    """What varies, N, P, σ and the optimizer: one thing after the other, then several at once."""
    sgd, steps = dmft.MultiPassSGD, 200
    left = 1 - np.arange(steps) / steps
    wsd, cosine = np.minimum(1, left / 0.2), (1 + np.cos(math.pi * (1 - left))) / 2
    warm = np.minimum(1, np.arange(1, steps + 1) / 40)
    inf = math.inf
    return [
        ("batch 1", 60, 100, 0.3, sgd(0.15, 1)), ("batch 2", 60, 100, 0.3, sgd(0.3, 2)),
        ("batch 4", 60, 100, 0.3, sgd(0.3, 4)), ("batch 16", 60, 100, 0.3, sgd(0.5, 16)),
        ("batch 16, distinct", 60, 100, 0.3, sgd(0.5, 16, distinct=True)),
        ("batch 50, distinct", 60, 100, 0.3, sgd(0.8, 50, distinct=True)),
        ("no label noise", 60, 100, 0.0, sgd(0.3, 4)), ("label noise 1", 60, 100, 1.0, sgd(0.3, 4)),
        ("more features than data", 120, 60, 0.3, sgd(0.3, 4)), ("N = P", 80, 80, 0.3, sgd(0.3, 4)),
        ("the kernel itself", inf, 80, 0.3, sgd(0.3, 4)), ("few data", 150, 30, 0.3, sgd(0.3, 2)),
        ("many data", 40, 400, 0.3, sgd(0.3, 4)),
        ("weight decay 0.02", 60, 100, 0.5, sgd(0.3, 4, weight_decay=0.02)),
        ("weight decay 0.3", 60, 100, 0.5, sgd(0.3, 4, weight_decay=0.3)),
        ("momentum 0.5", 60, 100, 0.3, sgd(0.1, 4, 0.5)), ("momentum 0.9", 60, 100, 0.3, sgd(0.02, 4, 0.9)),
        ("momentum 0.9, fast", 60, 100, 0.3, sgd(0.06, 16, 0.9)),
        ("cosine", 60, 100, 0.5, sgd(0.3, 2, schedule=tuple(cosine))),
        ("WSD", 60, 100, 0.5, sgd(0.3, 2, schedule=tuple(wsd))),
        ("warm-up", 60, 100, 0.5, sgd(0.3, 2, schedule=tuple(warm))),
        ("linear, momentum 0.8", 60, 100, 0.5, sgd(0.06, 4, 0.8, schedule=tuple(left))),
        ("cosine, momentum 0.8, decay 0.05", 120, 60, 0.5, sgd(0.06, 4, 0.8, 0.05, tuple(cosine))),
        ("WSD, batch 1, decay 0.05", 60, 100, 0.5, sgd(0.15, 1, 0.0, 0.05, tuple(wsd))),
    ]  # fmt: skip


def multi_pass(draws: int = 200) -> None:
    """SGD on a fixed data set after 200 steps: the solved losses beside the means of draws."""
    spectrum = sl.Spectrum.power_law(1.5, 1.25, 200)
    print(
        f"\n{'SGD on fixed data, 200 steps':<36} {'test':>8} {'simulated':>19} {'train':>8} {'simulated':>19}"
    )
    distances = []
    for seed, (name, n_params, n_data, noise, sgd) in enumerate(multi_pass_settings()):
        solved = dmft.solve(spectrum, [200], n_params, n_data, noise, sgd)
        drawn = train(spectrum, [200], n_params, n_data, noise, sgd, draws=draws, seed=seed)
        mean = drawn.average("seed").frame.iloc[0]
        cells = []
        for kind in ("test_loss", "train_loss"):
            exact, value, error = getattr(solved, kind)[0], mean[kind], mean[f"{kind}_stderr"]
            distances.append((value - exact) / error)
            cells.append(f"{exact:8.4f} {value:10.4f} ± {error:.4f}")
        print(f"{name:<36} {cells[0]} {cells[1]}", flush=True)
    z = np.abs(distances)
    print(
        f"{len(z)} comparisons: {np.sum(z < 2)} within two standard errors, the largest {z.max():.1f}, "
        f"the mean {np.mean(distances):+.2f}"
    )


def batches(draws: int = 800) -> None:
    """One-pass SGD on trained features: what batches add to the loss, solved and simulated."""
    print(f"\n{'one-pass SGD on trained features, N = 12':<51} {'time':>5} {'flow':>8} {'solved':>8} "
          f"{'simulated':>17} {'differs':>9} {'errors':>7}")  # fmt: skip
    distances = []
    for a, b, rate, batch, richness, noise, last in (
        (1.45, 1.5, 0.02, 2, 1.0, 0.3, 10), (1.45, 1.5, 0.02, 4, 3.0, 0.3, 10),
        (1.3, 2.0, 0.02, 2, 1.0, 0.5, 10), (1.3, 2.0, 0.01, 1, 0.3, 0.0, 10),
        (2.0, 1.3, 0.01, 1, 1.0, 0.3, 10), (2.6, 1.4, 0.02, 4, 0.3, 0.5, 10),
        (3.0, 1.5, 0.01, 1, 1.0, 0.5, 10), (1.45, 1.5, 0.02, 1, 3.0, 0.3, 10),
        (1.45, 1.5, 0.02, 1, 1.0, 0.3, 32), (1.6, 1.5, 0.05, 4, 1.0, 0.0, 60),
    ):  # fmt: skip
        at = np.array([3.0, last])
        spectrum = sl.Spectrum.power_law(a, b, 60)
        features = one_pass.drawn_modes(spectrum, 12, 4)
        flow = feature_learning.solve(spectrum, at, richness, 12, noise=noise, features=features).test_loss
        solved = feature_learning.solve(spectrum, at, richness, 12, noise=noise, features=features,
                                        learning_rate=rate, batch_size=batch).test_loss  # fmt: skip
        drawn = table(trained_features.train_on_batches(spectrum, at, richness, 12, rate, batch, noise,
                                                        draws=draws, seed=4))  # fmt: skip
        mean, error = drawn.mean(0), drawn.std(0, ddof=1) / math.sqrt(draws)
        name = f"a = {a:g}, b = {b:g}, η = {rate:g}, B = {batch}, c = {richness:g}, σ = {noise:g}"
        for i, time_ in enumerate(at):
            distances.append((mean[i] - solved[i]) / error[i])
            print(
                f"{name:<51} {time_:5g} {flow[i]:8.4f} {solved[i]:8.4f} {mean[i]:8.4f} ± {error[i]:.4f} "
                f"{100 * (mean[i] / solved[i] - 1):+7.2f} % {distances[-1]:+7.1f}",
                flush=True,
            )
    z = np.abs(distances)
    print(f"{len(z)} comparisons: {np.sum(z < 2)} within two standard errors, the largest {z.max():.1f}")


def bar(name: str, value: float, most: float) -> None:
    print(
        f"{name:<78} {value:10.2g} {most:8.2g} {'holds' if abs(value) <= most else 'MISSED':>7}", flush=True
    )


def bars() -> None:
    """Each number beside the largest that is allowed."""
    print(f"{'':<78} {'measured':>10} {'at most':>8}")
    spectrum, times = sl.Spectrum.power_law(1.6, 1.5, 10**20), np.geomspace(0.1, 1e9, 30)
    for name, sizes, to in (
        ("infinite width", (math.inf, math.inf), 1e9), ("N = 100", (100, math.inf), 1e9),
        ("N = 100, P = 200", (100, 200), 1e4),
    ):  # fmt: skip
        at = times[times <= to]
        rich, lazy = (solver(spectrum, at, *given).test_loss for solver, given in (
            (feature_learning.solve, (0.0, *sizes)), (dmft.solve, sizes)))  # fmt: skip
        bar(
            f"trained features at richness 0, {name}: distance to dmft.solve",
            np.abs(rich / lazy - 1).max(),
            1e-8,
        )
    few, at = sl.Spectrum.power_law(1.45, 1.5, 60), np.array([3, 20.0])
    features = one_pass.drawn_modes(few, 12, 4)
    many = [feature_learning.solve(few, at, 1.0, 12, features=features, **sgd).test_loss
            for sgd in ({"learning_rate": 0.1, "batch_size": 1e11}, {})]  # fmt: skip
    bar(
        "trained features, batches of 1e11: distance to gradient flow",
        np.abs(many[0] / many[1] - 1).max(),
        1e-8,
    )
    batch = feature_learning.solve(few, at, 0.0, 12, noise=0.3, learning_rate=0.0025, batch_size=1,
                                   features=features).test_loss  # fmt: skip
    steps = one_pass.solve(few, at / 0.0025, one_pass.OnePassSGD(0.0025, 1), 12, 0.3, features=features)
    bar("trained features at richness 0, η = 0.0025, B = 1: distance to one_pass.solve",
        np.abs(batch / steps.test_loss - 1).max(), 1e-3)  # fmt: skip
    seconds = measured(lambda: feature_learning.solve(spectrum, times))[0]
    bar("trained features to t = 1e9, CPU seconds", seconds, 1.0)
    when = [np.interp(math.log(2), np.log(rate), np.log(long)) for long in [np.geomspace(1, 1e12, 200)]
            for rate in (feature_learning.solve(spectrum, long, c).rate for c in (1e-4, 1e-5))]  # fmt: skip
    slope_ = (when[1] - when[0]) / math.log(10) * (1 - 0.4) - 1
    bar("lazy to rich: time of the crossover over richness^(-1/(1-β)), exponent", slope_, 0.02)
    for task, spectral in TASKS:
        given = sl.Spectrum.power_law(task, spectral, 10**30)
        found = slope(np.array([1e8, 1e9]), feature_learning.solve(given, [1e8, 1e9]).test_loss)
        chi, compute = feature_learning.exponents(task, spectral)
        bar(f"trained features, a = {task:g}, b = {spectral:g}: exponent in time", found / chi - 1, 0.02)
        solved, drawn, error, worst = simulated_exponent(task, spectral)
        name = f"trained features, a = {task:g}, b = {spectral:g}"
        bar(f"{name}: simulated over solved exponent", drawn / solved - 1, 0.02)
        bar(f"{name}: its standard error", error / solved, 0.02)
        bar(f"{name}: networks over their solved draws", worst, 1e-3)
        if task - 1 < spectral:
            frontier = feature_learning.compute_optimal(given, [1e10, 1e12], per_decade=2)
            found = frontier.local_exponents()[0][-1]
            bar(
                f"trained features, a = {task:g}, b = {spectral:g}: exponent in compute",
                found / compute - 1,
                0.02,
            )
    for line in phase_entry.boundaries("smoke").table:
        bar(f"{line.quantity}: boundary less the paper's", line.measured - line.reference, 0.02)
    small, steps = sl.Spectrum.power_law(2.5, 1.5, 500), np.arange(501)
    exact = one_pass.solve(small, steps, one_pass.OnePassSGD(0.2, 1), 100, 0.1, mean_field=True).test_loss
    scheduled = dmft.one_pass(small, np.full(500, 0.2), 1, 100, 0.1).test_loss
    bar("one_pass.solve, mean field: distance to dmft.one_pass", np.abs(exact / scheduled - 1).max(), 1e-3)
    panels = dmft.solve(small, steps, 100, noise=0.1, dynamics=one_pass.OnePassSGD(0.2, 1)).test_loss
    bar(
        "one_pass.solve, mean field: distance to dmft.solve (Volterra)",
        np.abs(exact / panels - 1).max(),
        1e-3,
    )
    for line in (*sign_entry.exponents(), *sign_entry.floors()):
        bar(line.quantity, line.measured / line.reference - 1, 0.02)
    for exponent in (0.0, 0.5, 0.8, 1.0, 1.3, 2.0):
        given = sparse_features.zipf(10_000, exponent)
        found = slope(
            np.array([1024, 4096]),
            np.array([sparse_features.superposition.strong(given, m) for m in (1024, 4096)]),
        )
        bar(f"strong superposition, frequencies i^-{exponent:g}: exponent in the dimension", found - 1, 0.05)
    for gain in (0.4, 0.7, 1.0, 1.3, 1.6, 2.0):
        many = sparse_features.zipf(10**6, 1 + gain)
        found = slope(
            np.array([1e4, 1e5]), np.array([sparse_features.quanta.error(many, d) for d in (1e4, 1e5)])
        )
        bar(f"quanta, a = {gain:g}: exponent in data", found * (1 + gain) / gain - 1, 0.05)


def measured(function: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds, and in a second run the peak of memory in MB."""
    start = time.process_time()
    function()
    seconds = time.process_time() - start
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak


def cost() -> None:
    print(f"\n{'':<66} {'CPU s':>9} {'MB':>9}")
    large, small = sl.Spectrum.power_law(2.5, 1.5, 10**9), sl.Spectrum.power_law(2.5, 1.5, 500)
    sgd = one_pass.OnePassSGD(0.2, 1)
    steps = np.round(np.geomspace(1, 1e6, 30))
    fixed = dmft.MultiPassSGD(0.2, 4, schedule=tuple(np.linspace(1, 0, 60)))
    few = sl.Spectrum.power_law(1.5, 1.25, 100)
    cases: dict[str, Callable[[], object]] = {
        "SGD on 100 examples, 60 steps of a schedule, N = 60, 100 modes": lambda: dmft.solve(
            few, np.arange(61), 60, 100, 0.3, fixed
        ),
        "the same simulated, 200 draws": lambda: train(few, [60], 60, 100, 0.3, fixed, draws=200),
        "SGD, 1e6 steps, N = 1000, 1e9 modes": lambda: one_pass.solve(large, steps, sgd, 1000),
        "the same by panels of mean-field theory (dmft.solve)": lambda: dmft.solve(
            large, steps, 1000, dynamics=sgd
        ),
        "SGD, 500 steps, N = 100, 500 modes": lambda: one_pass.solve(small, np.arange(501), sgd, 100),
        "the same as a schedule of constant rates (dmft.one_pass)": lambda: dmft.one_pass(
            small, np.full(500, 0.2), 1, 100
        ),
        "the same simulated, 20 draws": lambda: train(small, np.arange(501), 100, dynamics=sgd, draws=20),
        "trained features to t = 1e9, 1e9 modes": lambda: feature_learning.solve(
            large, np.geomspace(1, 1e9, 30)
        ),
        "trained features to t = 30, N = 64, 500 modes": lambda: feature_learning.solve(
            small, [30.0], 1.0, 64
        ),
        "the same, every weight integrated, 1 draw": lambda: trained_features.train(
            small, [30.0], 1.0, 64, draws=1
        ),
    }
    for name, function in cases.items():
        seconds, peak = measured(function)
        print(f"{name:<66} {seconds:9.3f} {peak:9.1f}", flush=True)


if __name__ == "__main__":
    parts = {"bars": bars, "exponents": exponents, "multi_pass": multi_pass, "batches": batches, "cost": cost}
    for part in sys.argv[1:] or parts:
        parts[part]()
