"""Sparse features: one over the dimension in strong superposition, and parities learnt one by one."""

from __future__ import annotations

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate import sparse_features as simulated
from scalinglab.studies import Reproduction, Row, verdict
from scalinglab.theory import sparse_features

FEATURES = 10_000
EXPONENTS = (0.0, 0.5, 0.8, 1.0, 1.3, 2.0)  # of the frequencies of features
DIMENSIONS = (16, 64, 256, 1024, 4096)
EXAMPLES = {"smoke": 40, "laptop": 1000}
TASKS, BITS = 10**6, 16
GAINS = (0.4, 0.7, 1.0)  # a: frequencies of tasks fall as i^-(1+a)
DATA = np.geomspace(1e3, 1e6, 7)
TESTS = {"smoke": 1000, "laptop": 40_000}


def superposition(scale: str) -> Reproduction:
    """Loss against dimension, strong and weak, for several frequencies."""
    chosen = EXPONENTS[3:4] if scale == "smoke" else EXPONENTS
    figure, axes = style.panels(1, 2, sharey=True)
    for axis, title in zip(axes[0], ("strong superposition", "weak superposition")):
        style.loglog(axis, "dimension m", "loss", title)
    table: list[Row] = []
    parts: list[Curves] = []
    sizes = np.array(DIMENSIONS)
    for place, (exponent, color) in enumerate(zip(chosen, style.PALETTE)):
        given = sparse_features.zipf(FEATURES, exponent)
        strong = np.array([sparse_features.superposition.strong(given, m) for m in DIMENSIONS])
        weak = np.array([sparse_features.superposition.weak(given, m) for m in DIMENSIONS])
        axes[0, 0].plot(sizes, strong, color=color, label=f"frequencies $i^{{-{exponent:g}}}$")
        axes[0, 1].plot(sizes, weak, color=color)
        columns = {"feature_exponent": exponent, "dimension": sizes}
        parts += [
            Curves({**columns, "model": name, "test_loss": losses}, settings=list(columns), source="theory")
            for name, losses in (("strong superposition", strong), ("weak superposition", weak))
        ]
        table.append(
            verdict.limit(-verdict.local_slopes(sizes, strong)).row(
                f"frequencies i^-{exponent:g}: exponent in strong superposition", paper=1.0, relation="in",
                resolution=0.05, note=f"m to {sizes[-1]}, extrapolated; {FEATURES} features, one active")
        )  # fmt: skip
        drawn = simulated.superposition(given, 256, examples=EXAMPLES[scale], seed=place)
        mean = verdict.mean(drawn)
        axes[0, 0].errorbar([256], [mean.value], [mean.stderr], fmt="o", color=color)
        table.append(
            verdict.mean(drawn / strong[2]).row(
                f"frequencies i^-{exponent:g}: simulated over solved loss, m = 256", expected=1.0,
                resolution=0.3, note=f"{EXAMPLES[scale]} examples")
        )  # fmt: skip
        if exponent > 1:
            # features beyond the last one are missing: they are added as an integral for the exponent
            missing = 4 / 3 * given[-1] * FEATURES / (exponent - 1)
            slope = -float(np.log((weak[2] + missing) / (weak[1] + missing)) / np.log(sizes[2] / sizes[1]))
            table.append(
                verdict.Number(slope, 0.01).row(
                    f"frequencies i^-{exponent:g}: exponent in weak superposition", paper=exponent - 1,
                    note=f"m = {sizes[1]} to {sizes[2]}; features beyond the last, {FEATURES}, are added")
            )  # fmt: skip
    axes[0, 0].legend(fontsize=7)
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def quanta(scale: str) -> Reproduction:
    """Errors of multitask parity against examples and capacity, exact and drawn."""
    chosen = GAINS[2:] if scale == "smoke" else GAINS
    figure, axes = style.panels(1, 2, sharey=True)
    style.loglog(axes[0, 0], "examples D", "error", f"multitask parity, {BITS} bits")
    style.loglog(axes[0, 1], "tasks that fit m", "error", "as many examples as are needed")
    table: list[Row] = []
    parts: list[Curves] = []
    capacities = np.array([10, 100, 1000, 10_000])
    for place, (gain, color) in enumerate(zip(chosen, style.PALETTE)):
        given = sparse_features.zipf(TASKS, 1 + gain)
        data = np.array([sparse_features.quanta.error(given, d, bits=BITS) for d in DATA])
        of_capacities = np.array([sparse_features.quanta.error(given, capacity=m) for m in capacities])
        axes[0, 0].plot(DATA, data, color=color, label=f"frequencies $i^{{-{1 + gain:g}}}$")
        axes[0, 1].plot(capacities, of_capacities, "o-", color=color)
        columns = {"model": "multitask parity", "gain": gain, "n_data": DATA, "test_error": data}
        parts.append(Curves(columns, settings=["gain"], source="theory"))
        # the tail of tasks beyond the last one is missing: it is added as an integral for the exponent
        tail = 0.5 * TASKS**-gain / gain / np.sum(np.arange(1, TASKS + 1.0) ** -(1 + gain))
        for name, x, errors, paper in (
            ("data", DATA, data, gain / (1 + gain)),
            ("capacity", capacities, of_capacities, gain),
        ):
            slopes = -verdict.local_slopes(x, errors + tail)
            table.append(
                verdict.refined(slopes[-2], slopes[-1]).row(
                    f"a = {gain:g}: exponent in {name}", paper=paper, relation="in", resolution=0.05 * paper,
                    note=f"exact; tasks beyond the last, {TASKS}, are added")
            )  # fmt: skip
        few = sparse_features.zipf(2000, 1 + gain)
        wrong = simulated.parities(few, 3000, BITS, tests=TESTS[scale], seed=place)
        exact = sparse_features.quanta.error(few, 3000, bits=BITS)
        table.append(
            verdict.mean(wrong / exact).row(
                f"a = {gain:g}: simulated over exact error, 2000 tasks, D = 3000", expected=1.0,
                note=f"equations modulo 2, {TESTS[scale]} test examples of one draw")
        )  # fmt: skip
    axes[0, 0].legend(fontsize=7)
    return Reproduction(Curves.concat(parts), figure, tuple(table))
