"""``scalinglab plan``: what to expect, what is optimal, and what to run next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalinglab.cli.options import Bounds, Numbers, Sizes, Variables, Words, by_name
from scalinglab.cli.output import Output
from scalinglab.cli.registry import command
from scalinglab.cli.tables import Rows, Surface, Table, read_table, with_notes
from scalinglab.errors import BadInput, nearest
from scalinglab.results.types import renaming

if TYPE_CHECKING:
    import numpy as np

    from scalinglab.answers.fitted import Chosen
    from scalinglab.laws.planning.next_runs import NextRuns
    from scalinglab.laws.planning.questions import Answer, Straightness
    from scalinglab.readers.tables import Understood


@command("plan optimal")
def optimal(table: Surface, compute: Numbers) -> Output:
    """Find the n_params and n_data with the lowest loss at a given compute.

    scalinglab plan optimal runs.csv --compute 1e21,1e23

    Args:
        compute: compute in FLOPs: '1e21', '1e20,1e22' or 'low:high:n'.
    """
    chosen, fitted = table.fitted()
    with renaming(chosen.names):
        best = fitted.compute_optimal(compute, **table.cost)
    rows = best.table()
    document = {
        "parameters": fitted.determined, "weights": fitted.weights, "optimal": rows.to_dict("records")
    }  # fmt: skip
    notes = (*fitted.law.points.notes, *fitted.others_weigh)
    return with_notes(chosen, document, rows, best.summary(chosen.names), notes)


@command("plan inference")
def inference(table: Surface, loss: float, used: Numbers) -> Output:
    """Find the model that reaches a loss with the fewest FLOPs of training and use together.

    scalinglab plan inference runs.csv --loss 2.3 --used 0,1e12,1e13

    Args:
        loss: the loss to reach, e.g. 2.3; above the floor of the surface.
        used: tokens (or examples) that the model will process in use: '1e13' or '0,1e12'.
    """
    import pandas as pd

    from scalinglab.laws.planning.inference import inference_optimal

    chosen, fitted = table.fitted()
    with renaming(chosen.names):
        plans = [inference_optimal(fitted, loss, amount, **table.cost) for amount in used]
    rows = pd.DataFrame([vars(plan) for plan in plans]).drop(columns=["compute_optimal", "loss_interval"])
    rows[["loss_low", "loss_high"]] = [plan.loss_interval for plan in plans]
    text = "\n".join(plan.summary(chosen.names) for plan in plans)
    document = {"parameters": fitted.determined, "plans": rows.to_dict("records")}
    return with_notes(chosen, document, rows, text, fitted.law.points.notes)


@command("plan approaches", figure="approaches", draws_unasked=False)
def approaches(table: Surface, compute: float) -> Output:
    """Compare envelope, isoFLOP parabolas and surface, with the bias of each.

    scalinglab plan approaches chinchilla.csv --compute 5.76e23 --drop-highest 5 --figure approaches.png

    Args:
        compute: compute in FLOPs at which to compare, e.g. 5.76e23.
    """
    from scalinglab.figures import laws as figures
    from scalinglab.laws import plan

    chosen = table.choose_surface()
    with renaming(chosen.names):
        found = plan.approaches(chosen.table, compute=compute, **table.policy, **table.cost)
    rows = [
        {"approach": r.name, "a": r.exponent, "a_low": r.exponent_interval.low,
         "a_high": r.exponent_interval.high, "n_params": r.n_params, "n_params_low": r.n_params_interval.low,
         "n_params_high": r.n_params_interval.high, "n_data": r.n_data, "bias": r.bias}
        for r in found.rows
    ]  # fmt: skip
    return with_notes(
        chosen, {"approaches": rows}, rows, found.summary(chosen.names), found.notes,
        figure=lambda: figures.approaches(found, found.surface, **table.cost),
    )  # fmt: skip


@command("plan next")
def next_runs(
    table: Surface,
    budget: float | None = None,
    compute: float | None = None,
    at: Numbers | None = None,
    x: str | None = None,
    form: str | None = None,
    var: Variables | None = None,
    cost: str | None = None,
    pool: Path | None = None,
    target: Path | None = None,
    share: float | None = None,
) -> Output:
    """Find the runs, within a budget, that shrink the interval of a target prediction most.

    Without options: for the cost of the largest run, the prediction at ten times its size or compute.

    With --pool the possible runs and their costs are given: run the batch, add its results to the runs, and
    ask again, until none is worth its cost.

    scalinglab plan next runs.csv

    scalinglab plan next chinchilla.csv --budget 1e22 --compute 5.76e23 --share 0.8

    scalinglab plan next curves.csv --x n_data --y test_error --at 1e6 --budget 5e14 --cost 1e9

    scalinglab plan next runs.csv --form precision --var bits=P --at 1e9,1e11,4 --budget 1e21

    scalinglab plan next runs.csv --pool pool.csv --target target.csv --budget 9 --cost hours

    Args:
        budget: cost to spend on new runs, e.g. 1e22: FLOPs of a surface or with --cost, else units of x; of a
            pool in the unit of its costs. Default: the cost of the largest run.
        compute: target: predict the lowest loss at this compute in FLOPs, e.g. 5.76e23.
        at: target: predict at this size, e.g. 1e6; for a surface a value of each variable of the form, e.g.
            'n_params,n_data'.
        x: fit a law of this one column instead of a surface. Default: the size that varies, where one does,
            or n_data, with one size in --at.
        form: any form of 'scalinglab laws forms'. Default: auto, all forms of surfaces, averaged, or with --x
            the form of 'laws fit --form auto'.
        cost: with --x: FLOPs per unit of x, e.g. 1e9. Default: x is the cost. With --pool: the column of
            costs. Default: cost.
        pool: choose from the runs of this table, one per row, e.g. pool.csv.
        target: target: predict at the sizes of this table, one per row, e.g. target.csv.
        share: print the cheapest plan with this share of what the whole budget narrows, e.g. 0.8. Default:
            all of it with --budget, else 0.8.
    """
    from scalinglab.laws import forms, plan

    if share is not None and not 0 < share <= 1:
        raise BadInput(f"--share {share:g} must lie between 0 and 1, as in 0.8")
    named = None if form in (None, "auto") else form
    chosen = _planned_points(table, named, x, var, compute is None and (at is None or len(at) == 1), at)
    columns = [x or chosen.x[0]]
    wanted: dict[str, Any] = table.policy
    if chosen.is_surface:
        wanted |= {"compute": compute} | table.cost
        columns = [*table.columns_of(forms.get(named or "chinchilla"), var).values()]
    if pool is not None:
        possible = read_table(pool, table.column)
        wanted["candidates"] = _values(possible, columns)
        wanted["cost"] = _values(possible, [cost or "cost"])[:, 0]
    elif not chosen.is_surface and cost is not None:
        each = _number("--cost ", cost)
        wanted["cost"] = lambda size: each * size
    if target is not None:
        at = _values(read_table(target, table.column), columns)
    with renaming(chosen.names):
        found = plan.next_runs(chosen.table, budget=budget, at=at, share=share, form=named, **wanted)
    if not chosen.is_surface and pool is None:
        unit = chosen.units[chosen.x[0]]
        unit = "FLOPs" if cost is not None else f"units of {unit}" if unit == chosen.x[0] else unit
        found = replace(found, unit=unit)
    return _planned(chosen, found, **({} if pool is None else {"row": found.index}))


def _planned_points(
    table: Surface, form: str | None, x: str | None, var: Variables | None, any_size: bool, at: Any
) -> Chosen:
    """The points that a plan starts from: of one column x, or of a surface.

    Args:
        any_size: whether the sizes that vary decide.
    """
    from scalinglab.laws import forms

    if form is not None and len(forms.get(form).variables) > 1:
        return table.choose_surface(form, var)
    if form is None and x is None and any_size:
        chosen = table.choose(y=table.y, drop_highest=table.drop_highest)
        if at is None or not chosen.is_surface:
            return chosen
    elif form is None and x is None:
        return table.choose_surface(named=var)
    return table.choose(x or "n_data", table.y, form or "auto", drop_highest=table.drop_highest)


def _values(read: Understood, names: list[str]) -> np.ndarray:
    """Columns of a table of runs, (rows, columns)."""
    resolved = [read.resolve(name) for name in names]
    if missing := [n for n, there in zip(names, resolved, strict=True) if there not in read.frame]:
        raise BadInput(f"no column {missing[0]!r}: name it with --var VARIABLE=COLUMN or --cost")
    return read.frame[resolved].to_numpy(float)  # type: ignore[no-any-return]


def _planned(chosen: Chosen, found: NextRuns, **more: Any) -> Output:
    """A plan; `more` are further columns of its runs."""
    if not chosen.is_surface:
        found = replace(found, variables=chosen.x, quantity=f"1 - {chosen.y}" if found.quantity else "")
    rows = found.notebook_table().assign(**more)
    rows.insert(rows.columns.get_loc("cost") + 1, "unit", found.unit)
    prediction = found.prediction if len(found.prediction) > 1 else float(found.prediction[0])
    document = {
        "quantity": found.quantity or chosen.y, "prediction": prediction, "half_width": found.before,
        "budget": found.budget, "unit": found.unit, "worth_it": found.worth_it, "verdict": str(found.verdict),
        "runs": rows.to_dict("records"),
    }  # fmt: skip
    return with_notes(chosen, document, rows, found.summary(chosen.names), found.notes)


@command("plan hyperparameters", figure="hyperparameters", draws_unasked=False)
def hyperparameters(
    table: Rows, at: Sizes, settings: Words | None = None, y: str | None = None, level: float = 0.95
) -> Output:
    """Predict the best learning rate, batch size and other settings at a size that was not searched.

    The table holds searches over the settings at several smaller sizes. Exit status 3 if settings do not
    transfer: if the same procedure fails on the largest sizes of the table.

    scalinglab plan hyperparameters searches.csv --at 1e9,2e10 --y val_loss

    scalinglab plan hyperparameters searches.csv --at width=4096 --settings learning_rate,init --level 0.9

    Args:
        at: the size: 'n_params,n_data', or by the names of its columns, e.g. 'width=4096,n_data=2e10'.
        settings: columns of the settings, separated by commas. Default: learning_rate, batch_size,
            weight_decay, momentum and warmup where the table varies them.
        y: the column of the loss. Default: loss, else the measurement there is.
    """
    from scalinglab.figures import decisions
    from scalinglab.laws.tuning import transfer

    named = by_name(at, ("n_params", "n_data"))
    if isinstance(named, Path) or any(len(values) != 1 for values in named.values()):
        raise BadInput("--at: give one size, n_params,n_data as in 1e9,2e10, or by name as in width=4096")
    curves = table.curves((*named, *(settings or ())))
    place = {curves.resolve(name): float(values[0]) for name, values in named.items()}
    chosen = [curves.resolve(name) for name in settings or ()]
    found = transfer.hyperparameters(curves, place, y=y, settings=chosen or None, level=level)
    document = {**found.to_dict(), "notes": [note.to_dict() for note in found.notes]}
    return Output(
        document, found.table(), found.summary(), figure=lambda: decisions.hyperparameters(found),
        status=3 if found.transfers is False else 0,
    )  # fmt: skip


@command("plan mixture", figure="mixture", draws_unasked=False)
def mixture(
    table: Rows,
    shares: Words,
    y: str | None = None,
    bounds: Bounds | None = None,
    repeat: Variables | None = None,
    n_params: float | None = None,
    n_data: float | None = None,
    level: float = 0.95,
) -> Output:
    """Find the data mixture with the lowest loss that the runs support.

    The table holds runs on several mixtures, a column of shares for each domain. Exit status 3 if the runs
    do not support a proposal within the bounds.

    scalinglab plan mixture mixtures.csv --shares web,code,books,maths --y loss_web

    scalinglab plan mixture mixtures.csv --shares share_* --bounds share_code=0.1:0.3 --level 0.9

    scalinglab plan mixture mixtures.csv --shares web,books --repeat books=5e9 --n-params 1e9 --n-data 1e11

    Args:
        shares: columns of the domains, separated by commas; share_* for all that begin so.
        y: the column of the loss. Default: loss, else the measurement there is.
        bounds: bounds of a share, DOMAIN=LOW:HIGH, e.g. code=0.1:0.3; equal bounds hold it. Repeatable.
        repeat: tokens that there are of a domain, e.g. books=5e9: at most four passes over them. Repeatable.
        n_params: parameters of the training, e.g. 1e9. Default: the largest of the runs.
        n_data: tokens of the training, e.g. 1e11. Default: the largest of the runs.
    """
    from fnmatch import fnmatch

    from scalinglab import readers
    from scalinglab.figures import decisions
    from scalinglab.laws.mixing import shares as mixing

    renamed: dict[str, Any] = {**(table.column or {})}
    columns = readers.read_table(table.file, **renamed).frame if "*" in "".join(shares) else ()
    domains: list[str] = []
    for pattern in shares:
        found = [c for c in map(str, columns) if fnmatch(c, pattern)] if "*" in pattern else [pattern]
        if not found:
            raise BadInput(f"--shares {pattern}: no column matches; {nearest(pattern, map(str, columns))}")
        domains += found
    where = table.where or {}
    read = read_table(table.file, table.column, domains)
    fitted = mixing.mixture(
        read.frame, [read.resolve(name) for name in domains], y=y and read.resolve(y), level=level,
        where={read.resolve(name): value for name, value in where.items()},
    )  # fmt: skip
    tokens = {name: _number(f"--repeat {name}=", text) for name, text in (repeat or {}).items()}
    like = {k: v for k, v in (("n_params", n_params), ("n_data", n_data)) if v is not None}
    best = fitted.best(constraints=bounds, like=like, repeat=tokens)
    document = {
        "shares": dict(best.shares), "loss": best.loss.to_dict(), "best_run": best.best_run,
        "distance": best.distance, "sizes": dict(best.sizes), "beyond": dict(best.beyond),
        "level": level, "left_out_error": float((fitted.errors**2).mean() ** 0.5),
        "notes": [note.to_dict() for note in fitted.notes],
    }  # fmt: skip
    text = f"{fitted.summary()}\n{best.summary()}"
    return Output(document, best.table(), text, figure=lambda: decisions.mixture(fitted))


def _number(before: str, text: str) -> float:
    """A number as it is typed after an option."""
    from scalinglab.curves.numbers import number

    if (value := number(text)) is None:
        raise BadInput(f"{before}{text}: write a number, as in {before}5e9")
    return float(value)


@command("plan size-for")
def size_for(
    table: Table, target: str, x: str | None = None, y: str | None = None, form: str = "auto"
) -> Output:
    """Predict the size x at which y reaches a target.

    scalinglab plan size-for curves.csv --x n_data --y test_error --target 5%

    Args:
        target: the value of y to reach, e.g. 0.05 or 5%; of an accuracy with --y accuracy, e.g. 95%.
    """
    from scalinglab.curves.numbers import number
    from scalinglab.laws import plan
    from scalinglab.support.words import Share

    value = number(target)
    if value is None or not value > 0:
        raise BadInput(f"--target {target} must be a positive number or percentage: the value of {y or 'y'}")
    chosen = table.choose(x, y, sizes=1)
    if chosen.y == "test_accuracy" and "test_error" in chosen.curves.frame:
        if not value < 1:
            raise BadInput(f"--target {target}: an accuracy is a fraction below 1; give 0.95 or 95%")
        chosen, value = table.choose(x, "test_error", sizes=1), 1 - value
    if value < 1 and (chosen.unit == "%" or target.endswith("%")):
        value = Share(value)
    found = plan.size_for(chosen.table, value, form=form, **table.policy)
    return _answered(chosen, found, f"{found.form}: {found.text}")


def _answered(chosen: Chosen, found: Answer | Straightness, text: str) -> Output:
    document = found.to_dict()
    row = {name: value for name, value in document.items() if name not in ("notes", "reason")}
    return with_notes(chosen, document, [row], text, found.notes)


@command("plan bend")
def bend(table: Table, x: str | None = None, y: str | None = None) -> Output:
    """Test whether the curve still follows its power law.

    scalinglab plan bend curves.csv --x n_data --y test_error
    """
    from scalinglab.laws import plan

    chosen = table.choose(x, y, sizes=1)
    found = plan.still_power_law(chosen.table, **table.policy)
    return _answered(chosen, found, found.text)
