"""``scalinglab laws``: fit laws to curves that were measured anywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scalinglab.cli.options import Bounds, Numbers, Priors, Sizes, Tie, Variables, Words, by_name
from scalinglab.cli.output import Output
from scalinglab.cli.registry import command
from scalinglab.cli.tables import Rows, Surface, Table, note_rows
from scalinglab.errors import BadInput
from scalinglab.results.types import Reason, renaming

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.laws import Law


@dataclass(frozen=True, kw_only=True)
class How:
    """How a form is fitted; with any of these the law itself predicts, and no average of forms."""

    space: str = "log"
    bounds: Bounds | None = None
    prior: Priors | None = None
    tie: Tie | None = None

    def options(self, **more: Any) -> dict[str, Any]:
        """Those that were given, as functions of laws take them."""
        given = {"bounds": self.bounds, "priors": self.prior, "tie": self.tie, **more}
        given |= {"space": self.space if self.space != "log" else None}
        return {name: value for name, value in given.items() if value is not None}


@command("laws fit", figure="law")
def fit(
    table: Table,
    how: How,
    x: str | None = None,
    y: str | None = None,
    form: Words = "auto",
    at: Numbers | None = None,
    level: float = 0.95,
    loss: str = "huber",
    error: str | None = None,
) -> Output:
    """Fit a law as fit does, or with options of your own; print its intervals and draw it.

    scalinglab laws fit curves.csv --x n_data --y test_error

    scalinglab laws fit runs/ --form power_law_offset,broken_power_law --at 1e6 --level 0.9

    scalinglab laws fit runs/ --form power_law_offset --bounds offset=0:0.02 --bounds exponent=0.5:0.5

    scalinglab laws fit means.csv --error test_error_stderr --loss squared --space raw

    Args:
        form: the form, e.g. power_law; several with commas, or auto; 'laws forms' lists all.
        at: also predict at these x: '1e6', '1e5,1e6' or 'low:high:n'.
        loss: loss on the residuals: huber or squared.
        error: the column with the standard error of y, e.g. test_error_stderr.
    """
    import pandas as pd

    from scalinglab.laws.fitting.data.points import positive
    from scalinglab.results.distributions import check_level

    check_level(level)
    positive(at=1 if at is None else at)
    chosen = table.choose(x, y, form[0], sizes=1, error=error)
    options = how.options(loss=None if loss == "huber" else loss) | table.policy
    options |= {} if error is None else {"error": chosen.table.error}
    fits = [chosen.fit(name, **options) for name in form]
    laws = [one.law for one in fits]
    lines, rows = [], []
    for one in fits:
        lines.append(one.law.summary())
        if at is not None:
            made = one.predict(at, level=level)
            lines += [str(Reason("inside", of=remark)) for remark in made.remarks]
            rows.append(made.notebook_table())
            rows[-1].insert(0, "form", one.law.form.name)
    predictions = pd.concat(rows) if rows else pd.DataFrame()
    document = {
        "laws": [law.to_dict() for law in laws], "notes": note_rows(chosen, laws[0].points.notes),
        "predictions": predictions.to_dict("records"),
    }  # fmt: skip
    by_form = pd.concat({law.form.name: law.notebook_table() for law in laws}, names=["form"])
    return Output(
        document,
        predictions if rows else by_form.reset_index("form"),
        "\n".join(lines),
        figure=lambda: _fit_figure(laws, rows, chosen.x[0], chosen.y, level),
    )


def _fit_figure(laws: list[Law], rows: list[pd.DataFrame], x: str, y: str, level: float) -> Any:
    """Laws over their points, with the predictions; those of a law of 1 - y as the law is."""
    from scalinglab.figures import laws as figures

    complements = [law.points.complement for law in laws]
    predicted = []
    for frame, complement in zip(rows, complements, strict=False):  # no rows without --at
        at, value, low, high = frame[[x, y, "low", "high"]].to_numpy().T
        drawn = (1 - value, 1 - high, 1 - low) if complement else (value, low, high)
        predicted.append(figures.Predicted(at, *drawn))
    label = f"1 - {y}" if all(complements) else f"{y}, or 1 - {y}" if any(complements) else y
    return figures.law(*laws, x=x, y=label, level=level, predicted=predicted)


@command("laws forms")
def forms() -> Output:
    """List the forms that can be fitted.

    scalinglab laws forms
    """
    from scalinglab.laws.forms import FORMS

    rows = [
        {"form": name, "variables": ", ".join(f.variables), "equation": f.equation, "from": f.doc}
        for name, f in sorted(FORMS.items(), key=lambda item: len(item[1].variables) > 1)
    ]
    wide = max(len(row["form"]) for row in rows)
    lines = []
    for row in rows:
        of = "" if row["variables"] == "x" else f"of {row['variables']}; "
        lines.append(f"{row['form']:<{wide}} {row['equation']}\n{'':<{wide}} {of}{row['from']}")
    return Output({"forms": rows}, rows, "\n".join(lines))


@command("laws surface", figure="surface")
def surface(
    table: Surface,
    how: How,
    form: str = "auto",
    var: Variables | None = None,
    delta: float | None = None,
    compute: Numbers | None = None,
    at: Sizes | None = None,
    level: float = 0.95,
) -> Output:
    """Fit the loss as a surface over parameters and data, or over the variables of another form.

    scalinglab laws surface chinchilla.csv --drop-highest 5 --compute 5.76e23

    scalinglab laws surface chinchilla.csv --at n_params=7B,n_data=60B --level 0.9

    scalinglab laws surface moe.csv --form routed_experts --var n_experts=E

    scalinglab laws surface runs.csv --form search --var rate=lr --var experts=E --var tokens=D

    scalinglab laws surface runs.csv --tie beta=alpha --prior alpha=0.35:0.1 --delta inf

    Args:
        form: a form of several variables ('laws forms' lists them), module:form, auto: all forms of the
            variables, averaged by how well each predicts the largest runs; or search: one that is found for
            the columns of --var.
        delta: Huber's threshold on ln loss; inf for least squares. Default: 1e-3 from 10 runs a parameter on,
            else from the scatter.
        compute: compute in FLOPs at which to find the best n_params and n_data, e.g. 5.76e23.
        at: also predict the loss there: 7e9,6e10 (in the order of the variables), or by name.
    """
    from scalinglab.figures import laws as figures
    from scalinglab.laws.fitting.data.points import positive
    from scalinglab.laws.surface import forms_of

    positive(compute=1 if compute is None else compute)
    tried = forms_of(form, var or {})
    chosen = table.choose_surface("auto" if form == "auto" and not var else tried[0], var)
    with renaming(chosen.names):
        made_of = chosen.fit(tried, **how.options(delta=delta), **table.policy)
    fitted = made_of.surface
    assert fitted is not None  # forms_of gives forms of several variables
    text, best = made_of.summary(), fitted.notebook_table()
    document: dict[str, Any] = {
        "form": fitted.law.form.name, "weights": fitted.weights,
        "parameters": fitted.determined, "errors": fitted.errors,
        "intervals": fitted.parameter_intervals(), "objective": fitted.objective,
        "certificate": vars(fitted.law.certificate), "points": len(fitted.law.points.y),
        "not_determined": list(fitted.undetermined), "interval_method": fitted.method,
        "notes": note_rows(chosen, made_of.notes),
    }  # fmt: skip
    if compute is not None:
        with renaming(chosen.names):
            optimal = fitted.compute_optimal(compute, level=level, **table.cost)
        text += "\n\n" + replace(optimal, caution=None).summary(chosen.names)  # the fit has it
        best = optimal.table()
        document["compute_optimal"] = best.to_dict("records")
    if at is not None:
        made = made_of.predict(by_name(at, chosen.x), level=level)
        text += "\n\n" + made.summary()
        best = made.notebook_table()
        document["predictions"] = best.to_dict("records")

    return Output(
        document, best, text,
        figure=lambda: figures.surface(fitted, compute=compute, loss=chosen.y, **table.cost),
    )  # fmt: skip


@command("laws extrapolate", figure="extrapolation")
def extrapolate(
    table: Table, at: Numbers, x: str | None = None, y: str | None = None, level: float = 0.95
) -> Output:
    """Extrapolate a curve by an average of several forms, weighted by backtests on its own points.

    scalinglab laws extrapolate curves.csv --x n_data --y test_error --at 1e5,1e6

    Args:
        at: sizes at which to predict: '1e6', '1e5,1e6' or 'low:high:n'.
    """
    import scalinglab as sl

    chosen = table.choose(x, y, sizes=1)
    found = sl.laws.extrapolate(chosen.table, at=at, level=level, **table.policy)
    (x,), y = chosen.x, chosen.y
    columns = {x: found.at, y: found.mean, "low": found.low, "high": found.high}
    document = {
        **columns, "weights": found.weights, "backtest_error": found.backtest_error, "level": found.level,
        "notes": note_rows(chosen, found.notes),
    }  # fmt: skip
    return Output(
        document, columns, found.summary(), figure=lambda: found.plot(x=x, y=y, backtests=True).figure
    )


@command("laws collapse", figure="collapse")
def collapse(
    rows: Rows,
    x: str = "norm",
    y: str | None = None,
    size: str = "n_data",
    by: str = "position",
    tolerance: float = 0.1,
) -> Output:
    """Rescale curves of several sizes onto one master curve, and measure the quality of the collapse.

    scalinglab laws collapse curves.csv --x norm --y test_error

    scalinglab laws collapse curves.csv --x step --y test_loss --size width --by optimum --tolerance 0.05

    Args:
        x: the column that grows during training, e.g. norm (spectral complexity).
        by: scale that divides each curve: its position (as in laws dynamical), or its optimum.
        tolerance: largest relative deviation that counts as collapsed, e.g. 0.1.
    """
    import scalinglab as sl
    from scalinglab.figures import collapse as figures

    curves = rows.curves()
    y = y or curves.default_measure
    found = sl.laws.collapse(curves, x=x, y=y, size=size, by=by, tolerance=tolerance)
    return Output(
        vars(found), found.rescaled, found.summary(),
        figure=lambda: figures.collapse(found, x=x, y=y, size=size),
    )  # fmt: skip


@command("laws dynamical", figure="dynamical")
def dynamical(rows: Rows, x: str = "norm", y: str | None = None, size: str = "n_data") -> Output:
    """Fit the dynamical laws to curves of error against norm at several sizes.

    scalinglab laws dynamical curves.csv --x norm --y test_error

    Args:
        x: the column that grows during training, e.g. norm (spectral complexity).
    """
    import scalinglab as sl
    from scalinglab.figures import collapse as figures
    from scalinglab.laws.learning_curves.mean_curves import size_curves

    curves = rows.curves()
    y = y or curves.default_measure
    found = sl.laws.dynamical(curves, x=x, y=y, size=size)
    return Output(
        {**vars(found), "collapse_from": found.collapse_from}, found.table, found.summary(),
        figure=lambda: figures.dynamical(found, size_curves(curves, x, y, size), x, y, size),
    )  # fmt: skip


@command("laws downstream", figure="downstream")
def downstream(
    table: Table,
    score: str,
    x: Words | None = None,
    loss: Words | None = None,
    chance: float | None = None,
    at: Numbers | None = None,
    compute: Numbers | None = None,
    level: float = 0.95,
    widest: float = 0.35,
    flops_per_param_example: float = 6.0,
) -> Output:
    """Predict a score in two stages: the loss from sizes, then the score from the loss.

    scalinglab laws downstream runs.csv --score accuracy --chance 0.25 --at 1e24

    scalinglab laws downstream t.csv --score error --x N,D --compute 1e24 --flops-per-param-example 7

    scalinglab laws downstream runs.csv --score accuracy --loss val_loss,code_loss --at 1e24 --widest 1

    Args:
        score: the column of the score, e.g. accuracy, or of an error; rows without one count for the loss.
        x: the column of the size, or one of each variable. Default: compute, else n_params,n_data.
        loss: the column of the loss, or several: a,b. Default: loss, else the measurement there is.
        chance: the score of guessing, e.g. 0.25 of four choices. Default: 0, of an error 1.
        at: predict at these x, e.g. 1e23,1e24; of two columns at one value of each.
        compute: predict for the best n_params and n_data at these FLOPs, e.g. 1e24.
        widest: the width of an interval, as a share of the score, beyond which there is no answer.
    """
    from scalinglab.laws import scores
    from scalinglab.laws.fitting.data.points import positive

    if at is not None and compute is not None:
        raise BadInput("--at and --compute both say where to predict: give one of them")
    if x is None:
        read = table.curves(printed=False)
        known_compute = compute is None and read.resolve("compute") in read.frame
        x = ["compute"] if known_compute else ["n_params", "n_data"]
    roles = dict(zip(("n_params", "n_data"), x, strict=False)) if len(x) > 1 else {}
    curves = table.curves(x, roles=roles)
    sizes, column = [curves.resolve(name) for name in x], curves.resolve(score)
    losses = [curves.resolve(name) for name in loss or ["loss"]]
    known = scores.fit(
        curves, loss=losses, score=column, chance=chance, x=sizes if len(sizes) > 1 else sizes[0],
        reduce=table.reduce, mixed=table.mixed, **table.policy,
    )  # fmt: skip
    places: Any = at
    if compute is not None:
        places = known.optimal_sizes(compute, flops_per_param_example=flops_per_param_example)
    elif at is not None:
        positive(at=at)
        places = dict(zip(known.x, by_name(at, x).values(), strict=True))
    document: dict[str, Any] = {"scores": known.to_dict(), "level": level, "predictions": []}
    if places is None:
        return Output(document, known.notebook_table(), known.summary(), figure=lambda: known.plot().figure)
    found = known.predict(places, level=level, widest=widest)
    typed = dict(zip((*known.x, losses[0], column), (*x, (loss or losses)[0], score), strict=True))
    rows = found.notebook_table().rename(columns=typed)
    document |= {"predictions": rows.to_dict("records"), "refused": found.to_dict()["refused"]}
    return Output(document, rows, f"{known.summary()}\n{found.summary()}", figure=lambda: found.plot().figure)
