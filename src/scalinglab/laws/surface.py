"""The loss as a surface over parameters and data, and the best use of compute on it.

L(N, D) = E + A N^-α + B D^-β (Hoffmann et al. 2022, eq. 2) by default; `laws.forms.surfaces` lists the
others. With C = k N D (k = 6 FLOPs per parameter and example) the best model for a compute C has

    N* = G (C/k)^(β/(α+β)),  D* = (C/k)^(α/(α+β))/G,  G = (α A/(β B))^(1/(α+β)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.deprecation import renamed_arguments, renamed_names
from scalinglab.errors import BadInput, nearest
from scalinglab.laws import forms
from scalinglab.laws.fitting import uncertainty
from scalinglab.laws.fitting.fit import fit as fit_form
from scalinglab.laws.fitting.law import Interval, Law
from scalinglab.laws.fitting.points import positive
from scalinglab.laws.fitting.uncertainty import Bootstrap
from scalinglab.laws.forms import surfaces
from scalinglab.laws.forms.base import Form

if TYPE_CHECKING:
    import pandas as pd

STRAIGHT = 0.01  # of ln size: sizes that stray less from a line, or from a value, lie on it
REACH = 60.0  # of ln n_params on both sides: no optimum lies farther out
FLOPS_PER_PARAM_EXAMPLE = 6.0  # per parameter and example: 2 forward, 4 backward


@dataclass(frozen=True)
class Optimal:
    """The best use of a compute.

    Attributes:
        compute: FLOPs, as asked.
        n_params, n_data, loss: at the optimum, shaped like `compute`.
        n_params_interval, n_data_interval, loss_interval: from the bootstrap over runs.
        exponent: of n_params ∝ compute^exponent, between the neighbourhoods of each compute.
        level: of the intervals.
    """

    compute: Any
    n_params: Any
    n_data: Any
    loss: Any
    n_params_interval: Interval
    n_data_interval: Interval
    loss_interval: Interval
    exponent: Any
    level: float

    def table(self) -> pd.DataFrame:
        """One row a compute."""
        import pandas as pd

        columns = {"compute": self.compute}
        for name in ("n_params", "n_data", "loss"):
            low, high = getattr(self, f"{name}_interval")
            columns |= {name: getattr(self, name), f"{name}_low": low, f"{name}_high": high}
        return pd.DataFrame({name: np.atleast_1d(v) for name, v in columns.items()})

    def summary(self) -> str:
        """A table in lines, the intervals below their values."""
        names = ("n_params", "n_data", "loss")
        lines = [f"{'compute':>10}" + "".join(f"{name:>23}" for name in names)]
        for row in self.table().to_dict("records"):
            lines.append(f"{row['compute']:>10.3g}" + "".join(f"{row[name]:>23.3g}" for name in names))
            ends = [(row[f"{name}_low"], row[f"{name}_high"]) for name in names]
            if np.isfinite(ends).all():
                cells = (f"{f'{low:.3g} … {high:.3g}':>23}" for low, high in ends)
                lines.append(f"{f'{100 * self.level:g} %':>10}" + "".join(cells))
        return "\n".join(lines)


@dataclass(frozen=True)
class Surface:
    """A fitted surface; made by `fit`. Parameters are attributes: `.E .A .B .alpha .beta`."""

    law: Law
    seed: int = 0  # of the resampling behind the intervals

    def __getattr__(self, name: str) -> float:
        parameters: dict[str, float] = object.__getattribute__(self, "law").parameters
        if name not in parameters:
            raise AttributeError(f"this surface has no {name!r}; its parameters: {', '.join(parameters)}")
        return parameters[name]

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted values by name."""
        return self.law.parameters

    @property
    def objective(self) -> float:
        """Σ w ρ(r) at the optimum."""
        return self.law.objective

    @property
    def certificate(self) -> Any:
        """How sure the fit is of its optimum."""
        return self.law.certificate

    def predict(self, *variables: Any) -> Any:
        """The loss at (n_params, n_data, …), arrays that broadcast."""
        return self.law.predict(_pair(self.law.form, variables))

    def interval(self, *variables: Any, level: float = 0.95, **options: Any) -> Interval:
        """The interval of the surface at (n_params, n_data, …); `method="bootstrap"` by default."""
        options = {"method": "bootstrap", **options}
        if options["method"] == "bootstrap" and len(options) == 1:
            return self.bootstrap.interval(_pair(self.law.form, variables), level)
        return self.law.interval(_pair(self.law.form, variables), level, **options)

    @cached_property
    def bootstrap(self) -> Bootstrap:
        """400 refits on resampled runs."""
        return uncertainty.bootstrap(self.law, draws=400, seed=self.seed)

    @property
    def errors(self) -> dict[str, float]:
        """One standard error of every parameter, from the bootstrap over runs."""
        return self.bootstrap.errors()

    @renamed_arguments(flops="flops_per_param_example")
    def compute_optimal(
        self,
        compute: Any,
        *,
        flops_per_param_example: float = FLOPS_PER_PARAM_EXAMPLE,
        level: float = 0.95,
        intervals: bool = True,
    ) -> Optimal:
        """The n_params and n_data that reach the lowest loss with a compute, k · n_params · n_data.

        Args:
            compute: FLOPs, a number or an array.
            flops_per_param_example: k, the FLOPs of a run divided by n_params · n_data.
            level: of the intervals.
            intervals: from `bootstrap`; False saves the refits and gives NaN.
        """
        positive(compute=compute, flops_per_param_example=flops_per_param_example)
        total = np.asarray(compute, float)
        flat = total.ravel()
        best = _optimum(self.law.form, self.law.values[None], flat / flops_per_param_example)[0]
        if (np.abs(np.log(best[0] / best[1])) > 1.9 * REACH).any():
            idle = self.law.form.variables[int(best[0, 0] > best[1, 0])]
            raise BadInput(
                f"the loss does not fall with {idle} in this fit, so no use of compute is the best: add runs "
                f"over a wider range of {idle}, or drop those that hide it"
            )
        nearby = _optimum(self.law.form, self.law.values[None], flat / flops_per_param_example * 1.01)[0]
        if intervals:
            draws = _optimum(self.law.form, self.bootstrap.values, flat / flops_per_param_example)
            tails = self.bootstrap.tails(level)
            low, high = np.quantile(draws, tails[0], axis=0), np.quantile(draws, tails[1], axis=0)
        else:
            low = high = np.full_like(best, np.nan)
        shaped = [_like(total, v) for v in (*best, *low, *high)]
        exponent = _like(total, np.log(nearby[0] / best[0]) / np.log(1.01))
        ends = [Interval(shaped[3 + i], shaped[6 + i]) for i in range(3)]
        n_params, n_data, loss = shaped[:3]
        return Optimal(_like(total, flat), n_params, n_data, loss, ends[0], ends[1], ends[2], exponent, level)

    def summary(self) -> str:
        """What a person wants to know, in lines."""
        law = self.law
        lines = [f"{law.form.name}: L = {law.form.equation}   ({', '.join(law.form.variables)})"]
        lines.append(f"  {len(law.points.y)} points at {law.points.sizes} sizes")
        errors = self.errors
        ends = self.bootstrap.parameter_intervals()
        for name, value in law.parameters.items():
            if name in errors:
                low, high = ends[name]
                lines.append(
                    f"  {name:<14} {value:<12.6g} ± {errors[name]:<10.3g} 95 % [{low:.4g}, {high:.4g}]"
                )
            else:
                lines.append(f"  {name:<14} {value:<12.6g} held")
        c = law.certificate
        lines.append(f"  objective      {c.objective:.7g}")
        lines.append(f"  certificate    {c.summary()}")
        if c.at_bound:
            lines.append(f"  at a bound     {', '.join(c.at_bound)}: not determined by these data")
        return "\n".join([*lines, *(f"  note: {note}" for note in law.points.notes)])


def fit(
    n_params: Any,
    n_data: Any,
    loss: Any,
    *,
    form: str | Form = "chinchilla",
    time: Any = None,
    n_unique: Any = None,
    delta: float | None = 1e-3,
    runs: Any = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    seed: int = 0,
    **options: Any,
) -> Surface:
    """Fit a surface to points (n_params, n_data, loss).

    Args:
        form: "chinchilla", "rosenfeld", "kaplan", "kaplan_time", "with_time", "data_constrained" or a `Form`
            of two variables and more.
        time: the third variable of "with_time"; for "kaplan_time" give the steps as `n_data`.
        n_unique: unique examples, the third variable of "data_constrained".
        delta: Huber's threshold on the logarithm of the loss; 1e-3 as is usual for such fits, None to take
            it from the scatter, infinity for least squares. Far below the scatter the fit is one of absolute
            values, whose bootstrap intervals cover about 97 % where they say 95 % (`benchmarks/coverage.py`).
        runs: the run of each point; points of one run are resampled together.
        bounds, options: as in `scalinglab.laws.fit`.
        seed: of the resampling behind the intervals.

    >>> import numpy as np
    >>> n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e9, 6), np.geomspace(1e8, 1e11, 6)))
    >>> surface = fit(n, d, 1.8 + 480 * n**-0.35 + 2100 * d**-0.37)
    >>> round(surface.alpha, 8), round(surface.beta, 8)
    (0.35, 0.37)
    """
    chosen = forms.get(form)
    if len(chosen.variables) < 2:
        known = [n for n, f in forms.FORMS.items() if len(f.variables) > 1]
        raise BadInput(f"form={chosen.name!r} is not a surface; {nearest(chosen.name, known)}")
    third = {"time": time, "n_unique": n_unique}
    x = [n_params, n_data]
    for name in chosen.variables[2:]:
        if third.get(name) is None:
            raise BadInput(
                f"{chosen.name} needs {name}= beside n_params and n_data (on the command line --third COLUMN)"
            )
        x.append(third[name])
    options = {"starts": 8, **options}
    law = fit_form(chosen, tuple(x), loss, delta=delta, runs=runs, bounds=bounds, **options)
    if not law.form.held:
        _two_dimensional(law.points.x, chosen.variables)
    return Surface(law, seed)


def _two_dimensional(x: np.ndarray, names: tuple[str, ...]) -> None:
    """Refuse sizes on one line: a fit would share the fall out among the variables as it likes.

    The usual case is twenty tokens per parameter in every run; its fit puts an exponent at a bound and then
    promises an optimum of 1e28 parameters.
    """
    first, second = np.log(x[:2])
    for name, values in zip(names, (first, second), strict=False):
        if np.ptp(values) < STRAIGHT:
            raise BadInput(
                f"{name} is {np.exp(values[0]):.4g} at every point: a surface needs several values of it; "
                "fit a law of the other variable instead (laws.fit)"
            )
    slope, constant = np.polyfit(first, second, 1)
    if np.std(second - slope * first - constant) < STRAIGHT:
        raise BadInput(
            f"{names[1]} = {np.exp(constant):.3g} · {names[0]}^{slope:.3g} at every point: what each "
            "contributes cannot be told apart; add runs off this line, or fit a law along it (laws.fit)"
        )


def _pair(form: Form, variables: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(variables) != len(form.variables):
        raise BadInput(f"{form.name} takes {len(form.variables)} variables: {', '.join(form.variables)}")
    return variables


def _like(shape_of: np.ndarray, values: np.ndarray) -> Any:
    return float(values[0]) if shape_of.ndim == 0 else values.reshape(shape_of.shape)


def _optimum(form: Form, values: np.ndarray, product: np.ndarray) -> np.ndarray:
    """(draws, 3, computes): n_params, n_data and loss that are best under n_params · n_data = product."""
    columns = [values[:, j, None] for j in range(values.shape[1])]
    if form.name == "chinchilla" and not form.held:
        _, a, b, alpha, beta = columns
        total = np.maximum(alpha + beta, 1e-12)
        with np.errstate(all="ignore"):
            log_g = (np.log(alpha * a) - np.log(beta * b)) / total
        log_n = log_g + beta / total * np.log(product)
    elif len(form.variables) == 2:
        log_n = _search(form, columns, product)
    else:
        raise BadInput(
            f"compute_optimal knows surfaces of n_params and n_data; {form.name} has more variables"
        )
    even = 0.5 * np.log(product)
    n = np.exp(np.clip(log_n, even - 5 * REACH, even + 5 * REACH))  # finite, and so is n_data
    d = product / n
    with np.errstate(all="ignore"):
        loss = np.broadcast_to(form.function(np.array([n, d]), *columns), n.shape)
    return np.stack([n, d, loss], axis=1)


def _search(form: Form, columns: list[np.ndarray], product: np.ndarray) -> np.ndarray:
    """The best ln n_params by a grid that shrinks around its minimum, for all draws and computes at once.

    It begins with every n_params within a factor of e^REACH of √product: the same in any unit of size.
    """
    centre = np.repeat(0.5 * np.log(product)[None], columns[0].shape[0], axis=0)
    width = np.full_like(centre, REACH)
    steps = np.linspace(-1, 1, 41)
    for _ in range(16):
        log_n = centre[..., None] + width[..., None] * steps
        n = np.exp(log_n)
        with np.errstate(all="ignore"):
            loss = form.function(np.array([n, product[None, :, None] / n]), *(c[..., None] for c in columns))
        best = np.nanargmin(np.where(np.isfinite(loss), loss, np.inf), axis=-1)
        centre = np.take_along_axis(log_n, best[..., None], axis=-1)[..., 0]
        width = width * 0.2
    return centre


__all__ = ["FLOPS_PER_PARAM_EXAMPLE", "Optimal", "Surface", "fit", "surfaces"]

__getattr__ = renamed_names(__name__, {"FLOPS": "FLOPS_PER_PARAM_EXAMPLE"})
