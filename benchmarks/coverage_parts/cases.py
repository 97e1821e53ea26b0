"""The cases of benchmarks/coverage.py: how a data set is drawn, what is fitted, which interval is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

import scalinglab as sl
from coverage_parts.few_sizes import FEW_SIZES, Ends, gaussian, offset, power, with_break
from coverage_parts.seed_curves import SEED_CASES
from scalinglab.laws import forms, optimum, surface

X = np.geomspace(100, 1e5, 12)
TWENTY = np.geomspace(100, 1e5, 20)
MANY = np.geomspace(100, 1e5, 24)
AT = np.array([1e3, 1e5, 1e6])


def fit_case(
    form: str, truth: Callable, x: np.ndarray = X, loss: str = "huber", noise: Callable = gaussian
) -> Callable:
    def one(rng: np.random.Generator) -> Ends:
        law = sl.laws.fit(form, x, truth(x) * noise(rng, x.size), loss=loss)
        return *law.interval(AT), truth(AT), law.predict(AT)

    return one


def parameters_case(truth: Callable = offset, x: np.ndarray = X, noise: Callable = gaussian) -> Callable:
    """Offset, amplitude and exponent."""
    names, exact = ("offset", "amplitude", "exponent"), np.array([0.05, 3.0, 0.4])

    def one(rng: np.random.Generator) -> Ends:
        law = sl.laws.fit("power_law_offset", x, truth(x) * noise(rng, x.size))
        ends = [law.parameter_intervals[n] for n in names]
        low, high = (np.array([e[i] for e in ends]) for i in (0, 1))
        return low, high, exact, np.array([law.parameters[n] for n in names])

    return one


def heavy(rng, shape):
    return np.exp(0.03 * rng.standard_t(3, shape))


def runs_case(aware: bool) -> Callable:
    """20 runs that cover every size and each have a deviation of their own."""

    def one(rng: np.random.Generator) -> Ends:
        count = 20
        y = offset(X) * np.exp(
            0.04 * rng.standard_normal((count, 1)) + 0.02 * rng.standard_normal((count, X.size))
        )
        labels = np.repeat(np.arange(count), X.size) if aware else None
        law = sl.laws.fit("power_law_offset", np.tile(X, count), y.ravel(), runs=labels)
        return *law.interval(AT), offset(AT), law.predict(AT)

    return one


def seeds_case(rng: np.random.Generator) -> Ends:
    """Four seeds a size, noisier at small sizes; residuals of whole runs are flipped."""
    x = np.repeat(X, 4)
    law = sl.laws.fit("power_law_offset", x, offset(x) * np.exp(0.3 * x**-0.25 * rng.standard_normal(x.size)))
    drawn = sl.laws.bootstrap(law, draws=500, scheme="wild", seed=int(rng.integers(2**31)))
    return *drawn.interval(AT), offset(AT), law.predict(AT)


TRUE = (1.8, 480.0, 2100.0, 0.35, 0.37)
ISOFLOP = np.meshgrid(np.geomspace(3e7, 1e10, 10), np.geomspace(1e18, 1e22, 8))  # n_params, compute
GRID = np.meshgrid(np.geomspace(5e7, 2e9, 22), np.geomspace(4e9, 3.5e11, 8))  # n_params, n_data


def surface_case(
    n_params: np.ndarray = ISOFLOP[0],
    n_data: np.ndarray = ISOFLOP[1] / (6 * ISOFLOP[0]),
    noise: float = 0.004,
    delta: float = 1e-3,
) -> Callable:
    """Loss at the compute-optimal point for one and ten times the largest compute, and n_params there."""
    n, d = n_params.ravel(), n_data.ravel()
    loss = forms.get("chinchilla")(np.array([n, d]), *TRUE)
    compute = np.max(6 * n * d) * np.array([1, 10])

    def one(rng: np.random.Generator) -> Ends:
        measured = loss * gaussian(rng, n.size, noise)
        # a seed of its own for every set: shared resamples would make the sets dependent
        fitted = surface.fit(n, d, measured, delta=delta, seed=int(rng.integers(2**31)))
        best = fitted.compute_optimal(compute)
        exact = optimum.best_split(fitted.law.form, np.array([TRUE]), compute / 6)[0]
        low, high = (
            np.array([*getattr(best.loss_interval, end), getattr(best.n_params_interval, end)[1]])
            for end in ("low", "high")
        )
        return low, high, np.array([*exact[2], exact[0, 1]]), np.array([*best.loss, best.n_params[1]])

    return one


Truth = Callable[[np.ndarray, np.ndarray], np.ndarray]


def power_of_a_sum(rng: np.random.Generator) -> Truth:
    """E + (A N^-a + B D^-b)^g, the form of Kaplan et al. (2020, eq. 1.5) with a floor."""
    g, floor, (big, many) = rng.uniform(0.3, 0.9), rng.uniform(1.2, 2), rng.uniform(0.5, 2, 2)
    a, b = rng.uniform(0.25, 0.5, 2) / g
    return lambda n, d: floor + (big * (n / 1e8) ** -a + many * (d / 2e9) ** -b) ** g


def with_interaction(rng: np.random.Generator) -> Truth:
    """A third power, of the compute."""
    floor, (a, b), c = rng.uniform(1.2, 2), rng.uniform(0.25, 0.45, 2), rng.uniform(0.2, 0.3)
    big, many, both = rng.uniform([0.3, 0.3, 0.2], [1, 1, 0.6])
    return lambda n, d: floor + big * (n / 1e8) ** -a + many * (d / 2e9) ** -b + both * (n * d / 2e17) ** -c


def broken_in_both(rng: np.random.Generator) -> Truth:
    """Each power changes by up to 0.15 somewhere, for N between 3e8 and 1e10, for D between 3e9 and 3e11."""
    floor, (a, b), change = rng.uniform(1.2, 2), rng.uniform(0.25, 0.45, 2), rng.uniform(-0.15, 0.15, 2)
    big, many = rng.uniform(0.4, 1.2, 2)
    at = 10 ** rng.uniform([8.5, 9.5], [10, 11.5])

    def power(x, unit, exponent, place, more):
        return (x / unit) ** -exponent * (1 + (x / place) ** 2) ** (-more / 2)

    return lambda n, d: (
        floor + big * power(n, 1e8, a, at[0], change[0]) + many * power(d, 2e9, b, at[1], change[1])
    )


SQUARE = tuple(np.meshgrid(np.geomspace(1e8, 1e10, 5), np.geomspace(2e9, 2e11, 5)))


def other_surface_case(
    drawn: Callable[[np.random.Generator], Truth], design: tuple[np.ndarray, np.ndarray]
) -> Callable:
    """As `surface_case`, of surfaces that the fitted form does not have."""
    n, d = (v.ravel() for v in design)
    product = np.max(n * d) * np.array([1.0, 10.0])
    sizes = np.geomspace(1e-3, 1e3, 4001)[:, None] * np.sqrt(product / 20)

    def one(rng: np.random.Generator) -> Ends:
        truth = drawn(rng)
        fitted = surface.fit(n, d, truth(n, d) * gaussian(rng, n.size, 0.004), seed=int(rng.integers(2**31)))
        best = fitted.compute_optimal(6 * product)
        losses = truth(sizes, product / sizes)
        exact = np.array([*losses.min(axis=0), sizes[losses[:, 1].argmin(), 1]])
        low, high = (
            np.array([*getattr(best.loss_interval, end), getattr(best.n_params_interval, end)[1]])
            for end in ("low", "high")
        )
        return low, high, exact, np.array([*best.loss, best.n_params[1]])

    return one


def small_surface_case(sizes: int, data: int, noise: float = 0.005) -> Callable:
    """Loss and n_params at ten times the largest compute, and beta, from a grid of sizes × data runs."""
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, sizes), np.geomspace(2e9, 2e11, data)))
    loss = forms.get("chinchilla")(np.array([n, d]), *TRUE)
    compute = 10 * np.max(6 * n * d)
    exact = optimum.best_split(forms.get("chinchilla"), np.array([TRUE]), np.array([compute / 6]))[0, :, 0]

    def one(rng: np.random.Generator) -> Ends:
        fitted = surface.fit(n, d, loss * gaussian(rng, n.size, noise))
        best = fitted.compute_optimal(compute)
        ends = (best.loss_interval, best.n_params_interval, fitted.parameter_intervals()["beta"])
        low, high = (np.array([float(e[i]) for e in ends]) for i in (0, 1))
        truth = np.array([exact[2], exact[0], TRUE[4]])
        return low, high, truth, np.array([best.loss, best.n_params, fitted.beta])

    return one


Noise = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]


def independent_errors(rng: np.random.Generator, n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """0.3 % at every run."""
    return 0.003 * rng.standard_normal(n.size)


def offsets_of_sizes(rng: np.random.Generator, n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """0.3 % at every run, and 0.5 % that all runs of one n_params share."""
    sizes, which = np.unique(n, return_inverse=True)
    return independent_errors(rng, n, d) + 0.005 * rng.standard_normal(len(sizes))[which]


def almost_alone(rng: np.random.Generator, n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """0.03 % at every run, and 0.5 % that all runs of one n_params share."""
    sizes, which = np.unique(n, return_inverse=True)
    return 0.1 * independent_errors(rng, n, d) + 0.005 * rng.standard_normal(len(sizes))[which]


def along_data(rng: np.random.Generator, n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """0.5 %, autoregressive along n_data among the runs of one n_params: 0.8 from run to run."""
    found = np.empty(n.size)
    for size in np.unique(n):
        rows = np.flatnonzero(n == size)
        found[rows[np.argsort(d[rows])]] = np.log(along(rng, len(rows), 0.8, 0.005))
    return found


EIGHT = tuple(np.meshgrid(np.geomspace(5e7, 2e10, 8), np.geomspace(2e9, 4e11, 7)))


def shared_error_case(noise: Noise, design: tuple[np.ndarray, np.ndarray]) -> Callable:
    """Alpha, and loss and n_params at ten times the largest compute."""
    n, d = (v.ravel() for v in design)
    form = forms.get("chinchilla")
    loss, compute = form(np.array([n, d]), *TRUE), 60 * np.max(n * d)
    exact = optimum.best_split(form, np.array([TRUE]), np.array([compute / 6]))[0, :, 0]

    def one(rng: np.random.Generator) -> Ends:
        measured = loss * np.exp(noise(rng, n, d))
        fitted = surface.fit(n, d, measured, seed=int(rng.integers(2**31)))
        best = fitted.compute_optimal(compute)
        ends = (fitted.parameter_intervals()["alpha"], best.loss_interval, best.n_params_interval)
        low, high = (np.array([float(e[i]) for e in ends]) for i in (0, 1))
        return (
            low,
            high,
            np.array([TRUE[3], exact[2], exact[0]]),
            np.array([fitted.law.parameters["alpha"], best.loss, best.n_params]),
        )

    return one


def at_runs_case(noise: Noise, design: tuple[np.ndarray, np.ndarray]) -> Callable:
    """Loss at the most data, of the middle, the largest and the smallest n_params."""
    n, d = (v.ravel() for v in design)
    form, sizes = forms.get("chinchilla"), np.unique(n)
    at = np.array([sizes[[len(sizes) // 2, -1, 0]], np.repeat(d.max(), 3)])

    def one(rng: np.random.Generator) -> Ends:
        measured = form(np.array([n, d]), *TRUE) * np.exp(noise(rng, n, d))
        fitted = surface.fit(n, d, measured, seed=int(rng.integers(2**31)))
        places = dict(zip(form.variables, at, strict=True))
        return *fitted.interval(places), form(at, *TRUE), fitted.median(places)

    return one


def checkpoints_case(count: int) -> Callable:
    """Loss amid the checkpoints of runs of one length, at the last of the largest, and at 3 times both."""
    n, d = np.meshgrid(np.geomspace(2e7, 2e9, count), np.geomspace(3e8, 2e10, 30), indexing="ij")
    form, run = forms.get("chinchilla"), np.repeat(np.arange(count), d.shape[1])
    at = np.array([[2e8, 2e9, 6e9], [3e9, 2e10, 6e10]])

    def one(rng: np.random.Generator) -> Ends:
        offsets = 0.005 * rng.standard_normal((count, 1))
        steps = np.log([along(rng, d.shape[1], 0.8, 0.003) for _ in range(count)])
        table = pd.DataFrame({
            "run": run, "n_params": n.ravel(), "tokens": d.ravel(), "n_data": d.max(),
            "loss": (form(np.array([n, d]), *TRUE) * np.exp(offsets + steps)).ravel(),
        })  # fmt: skip
        fitted = surface.fit(table, seed=int(rng.integers(2**31)))
        places = dict(zip(form.variables, at, strict=True))
        return *fitted.interval(places), form(at, *TRUE), fitted.median(places)

    return one


def floor_at_zero_case(rng: np.random.Generator) -> Ends:
    """The loss far beyond 6 × 5 runs whose sizes share 1 %, at floors 0, 0.5 and 1 that the fit puts at 0."""
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(2e8, 2e9, 6), np.geomspace(1e9, 2e10, 5)))
    form, far, found = forms.get("chinchilla"), np.array([3e10, 3e11]), []
    for floor in (0.0, 0.5, 1.0):
        truth = (floor, 16.0 - 8 * floor, 2100.0, 0.1, 0.37)
        while True:
            noise = 0.01 * np.repeat(rng.standard_normal((1, 6)), 5, axis=0).ravel()
            measured = form(np.array([n, d]), *truth) * np.exp(noise + 0.001 * rng.standard_normal(n.size))
            fitted = surface.fit(n, d, measured, form=form)
            if fitted.law.certificate.at_bound == ("E",):
                break
        at = dict(zip(form.variables, far, strict=True))
        found.append((*fitted.interval(at), float(form(far, *truth)), fitted.median(at)))
    low, high, exact, middle = np.array(found, float).T
    return low, high, exact, middle


def approaches_case(rng: np.random.Generator) -> Ends:
    """a of n_params ∝ compute^a by envelope, parabolas and surface, from 80 runs on isoFLOP lines."""
    n, compute = (v.ravel() for v in ISOFLOP)
    d = compute / (6 * n)
    loss = forms.get("chinchilla")(np.array([n, d]), *TRUE) * gaussian(rng, n.size, 0.004)
    found = sl.laws.plan.approaches(n, d, loss, compute=1e23, seed=int(rng.integers(2**31)))
    low, high = (np.array([row.exponent_interval[i] for row in found.rows]) for i in (0, 1))
    truth = np.full(3, TRUE[4] / (TRUE[3] + TRUE[4]))
    return low, high, truth, np.array([row.exponent for row in found.rows])


def uneven(rng, shape, first=0.1, last=0.01):
    """Noise that changes with size, from 10 % to 1 %, without the error being given."""
    return np.exp(np.geomspace(first, last, shape) * rng.standard_normal(shape))


def steps(rng, shape):
    """3 % of noise at the smaller half of the sizes and 10 % at the larger, which is no power of the size."""
    return np.exp(np.where(np.arange(shape) < shape // 2, 0.03, 0.1) * rng.standard_normal(shape))


def growing(rng, shape):
    """Noise that grows with size, from 1 % to 10 %."""
    return uneven(rng, shape, 0.01, 0.1)


def along(rng, shape, correlation=0.8, size=0.03):
    """AR(1) along the curve: neighbours share most of their noise."""
    drawn = [rng.standard_normal()]
    for _ in range(shape - 1):
        drawn.append(correlation * drawn[-1] + np.sqrt(1 - correlation**2) * rng.standard_normal())
    return np.exp(size * np.array(drawn))


def one_run_case(rng: np.random.Generator) -> Ends:
    """12 points along one run, which the fit knows: correlation counts, though so few do not show it."""
    law = sl.laws.fit("power_law_offset", X, offset(X) * along(rng, X.size), runs=np.zeros(X.size))
    return *law.interval(AT), offset(AT), law.predict(AT)


def bent(rng: np.random.Generator) -> Callable:
    """A curve that no single form of the fit follows: a power law that bends, somewhere, some way."""
    change, place, width = rng.uniform(-0.3, 0.3), 10 ** rng.uniform(2.5, 5), rng.uniform(0.2, 1.0)
    floor = 0.03 * rng.uniform()
    form = forms.broken_power_law(1)
    return lambda x: form(x, floor, 3.0, 0.4, change, place, width)


LONG = np.geomspace(100, 1e5, 30)
FURTHER = np.array([1.3e5, 2e5, 3e5])


def wrong_form_case(form: str) -> Callable:
    def one(rng: np.random.Generator) -> Ends:
        truth = bent(rng)
        law = sl.laws.fit(form, LONG, truth(LONG) * gaussian(rng, LONG.size, 0.01))
        measured = truth(FURTHER) * gaussian(rng, FURTHER.size, 0.01)
        return *law.interval(FURTHER, of="measurement"), measured, law.predict(FURTHER)

    return one


def over_forms_case(rng: np.random.Generator) -> Ends:
    truth = bent(rng)
    found = sl.laws.extrapolate(LONG, truth(LONG) * gaussian(rng, LONG.size, 0.01), at=FURTHER)
    return found.low, found.high, truth(FURTHER) * gaussian(rng, FURTHER.size, 0.01), found.mean


def log_case(checkpoints: int, noise: Callable) -> Callable:
    """A training continued from its log, at 1.1, 2 and 10 times its steps: where a checkpoint would fall."""
    steps = np.linspace(50, 20_000, checkpoints)
    further = 20_000 * np.array([1.1, 2.0, 10.0])

    def one(rng: np.random.Generator) -> Ends:
        floor, power = rng.uniform(0.9, 2.7), rng.uniform(0.25, 0.6)
        truth = lambda at: floor + (3 - floor) * (at / 500) ** -power  # noqa: E731
        found = sl.laws.extrapolate(steps, truth(steps) * noise(rng, checkpoints, size=0.008), at=further)
        return found.low, found.high, truth(further) * gaussian(rng, 3, 0.008), found.mean

    return one


def kernel_case(n: int, spectral: float, task: float) -> Callable:
    """Exponents b and a of a kernel of Gaussian features on n inputs, against those of its population."""

    def one(rng: np.random.Generator) -> Ends:
        modes = 16 * n
        k = np.arange(1, modes + 1.0)
        values, weights = k**-spectral, k ** (-task / 2) * rng.choice([-1.0, 1.0], modes)
        features = rng.standard_normal((n, modes), dtype=np.float32)
        kernel = ((features * values.astype(np.float32)) @ features.T).astype(float)
        targets = features @ weights.astype(np.float32)
        measured = sl.Spectrum.from_kernel((kernel + kernel.T) / 2, targets)
        found = [measured.tail_exponent(of) for of in ("eigenvalues", "target_power")]
        population = sl.Spectrum(values, weights**2)
        truth = [
            population.tail_exponent(of, part.window).value
            for of, part in zip(("eigenvalues", "target_power"), found)
        ]
        low, high, fitted = (np.array([getattr(p, name) for p in found]) for name in ("low", "high", "value"))
        return low, high, np.array(truth), fitted

    return one


@dataclass(frozen=True)
class Case:
    name: str
    one: Callable[[np.random.Generator], Ends]
    asked: bool = True  # whether 90 to 98 % is expected


CASES = (
    Case("power law", fit_case("power_law", power)),
    Case("power law, squares", fit_case("power_law", power, loss="squared")),
    Case("offset", fit_case("power_law_offset", offset)),
    Case("offset, squares", fit_case("power_law_offset", offset, loss="squared")),
    Case("offset, 7 sizes", fit_case("power_law_offset", offset, x=np.geomspace(100, 1e5, 7))),
    Case("offset, 8 sizes", fit_case("power_law_offset", offset, x=np.geomspace(100, 1e5, 8))),
    Case("offset, 24 sizes", fit_case("power_law_offset", offset, x=np.geomspace(100, 1e5, 24))),
    Case("offset, heavy tails (t3)", fit_case("power_law_offset", offset, noise=heavy)),
    Case("offset, 20 runs, bootstrap over runs", runs_case(True)),
    Case("offset, 20 runs, blind to runs", runs_case(False), asked=False),
    Case("offset, 4 seeds a size, wild bootstrap", seeds_case),
    Case("surface: loss, loss, n_params", surface_case()),
    Case("surface, squares", surface_case(delta=np.inf)),
    Case("surface, grid of 22 × 8 runs, 1 % noise", surface_case(*GRID, noise=0.01)),
    Case("surface, grid of 22 × 8 runs, squares", surface_case(*GRID, noise=0.01, delta=np.inf)),
    *(
        # runs before a break do not show it
        Case(f"surface, {name}, {runs}", other_surface_case(truth, design), name != "breaks")
        for name, truth in (
            ("power of a sum", power_of_a_sum),
            ("interaction", with_interaction),
            ("breaks", broken_in_both),
        )
        for runs, design in (("80 runs", (ISOFLOP[0], ISOFLOP[1] / (6 * ISOFLOP[0]))), ("5 × 5", SQUARE))
    ),
    Case("surface, approaches: a by envelope, parabolas, surface", approaches_case),
    Case("surface, 3 × 2 runs", small_surface_case(3, 2)),
    Case("surface, 2 × 3 runs", small_surface_case(2, 3)),
    Case("surface, 3 × 3 runs: loss, n_params, beta", small_surface_case(3, 3)),
    Case("surface, 4 × 4 runs", small_surface_case(4, 4)),
    Case("surface, 4 × 4 runs, 2 % noise", small_surface_case(4, 4, 0.02)),
    Case("surface, 5 × 5 runs", small_surface_case(5, 5)),
    *(Case(f"surface, checkpoints of {count} runs", checkpoints_case(count)) for count in (4, 5, 8)),
    Case("surface, a floor that the fit puts at zero: loss at floors 0, 0.5, 1", floor_at_zero_case),
    *(
        Case(f"surface, {runs}, {name}: alpha, loss, n_params", shared_error_case(noise, design))
        for runs, design in (("8 × 7", EIGHT), ("5 × 5", SQUARE))
        for name, noise in (
            ("independent errors", independent_errors),
            ("errors of sizes", offsets_of_sizes),
            ("AR(1) along n_data", along_data),
        )
    ),
    *(
        Case(f"surface, {runs}, {name}: loss at middle, largest, smallest", at_runs_case(noise, design))
        for runs, design in (("8 × 7", EIGHT), ("5 × 5", SQUARE))
        for name, noise in (("errors of sizes", offsets_of_sizes), ("of sizes alone", almost_alone))
    ),
    *(Case(name, one, asked) for name, one, asked in FEW_SIZES),
    Case("offset, 12 sizes, noise that falls", fit_case("power_law_offset", offset, noise=uneven)),
    Case("offset, 12 sizes, noise that grows", fit_case("power_law_offset", offset, noise=growing)),
    Case(
        "offset, 12 sizes × 3 seeds, noise that grows",
        fit_case("power_law_offset", offset, x=np.repeat(X, 3), noise=growing),
    ),
    Case("offset, 20 sizes, noise in two steps", fit_case("power_law_offset", offset, x=TWENTY, noise=steps)),
    Case("offset, 12 sizes, parameters", parameters_case()),
    Case("parameters, noise that grows", parameters_case(noise=growing)),
    Case("parameters, noise that falls", parameters_case(noise=uneven)),
    Case("parameters, 24 sizes, AR(1)", parameters_case(x=MANY, noise=along)),
    Case(
        "offset, 12 sizes, AR(1), taken as separate runs",
        fit_case("power_law_offset", offset, noise=along),
        asked=False,
    ),
    Case("offset, 12 sizes of one run, AR(1)", one_run_case),
    Case("offset, 24 sizes, AR(1)", fit_case("power_law_offset", offset, x=MANY, noise=along)),
    Case("offset, 12 sizes, a break", fit_case("power_law_offset", with_break)),
    Case("kernel on 200 inputs, b = 1.5, a = 1.5: b, a", kernel_case(200, 1.5, 1.5)),
    Case("kernel on 400 inputs, b = 1.5, a = 1.5: b, a", kernel_case(400, 1.5, 1.5)),
    Case("kernel on 400 inputs, b = 2, a = 1.3: b, a", kernel_case(400, 2.0, 1.3)),
    *(Case(name, one, asked) for name, one, asked in SEED_CASES),
    *(
        Case(f"log of {count} checkpoints, {name}", log_case(count, noise))
        for count in (100, 400)
        for name, noise in (("independent noise", gaussian), ("AR(1)", along))
    ),
    Case("misspecified: over forms (extrapolate)", over_forms_case),
    Case("misspecified: power law alone", wrong_form_case("power_law"), asked=False),
    Case("misspecified: offset alone", wrong_form_case("power_law_offset"), asked=False),
)
