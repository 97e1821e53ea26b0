"""``scalinglab laws speedup`` and ``laws schedule``: two recipes compared; the loss under a schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.option_sets import Drawing, takes
from scalinglab.cli.shared.output import grid
from scalinglab.cli.shared.tables import ask, finish, renamed, say
from scalinglab.errors import BadInput


@takes(drawing=Drawing)
def speedup(
    drawing: Drawing,
    a: Annotated[Path, typer.Argument(help="Recipe A: a table, a store or logs, e.g. new.csv.")],
    b: Annotated[Path, typer.Argument(help="Recipe B, the baseline, e.g. old.csv.")],
    x: Annotated[str, typer.Option("--x", help="The column of compute in FLOPs, e.g. compute.")] = "compute",
    y: Annotated[str, typer.Option("--y", help="The column of the loss, e.g. loss.")] = "loss",
    at: Annotated[
        str | None,
        typer.Option(help="Compute in FLOPs, e.g. 1e21, or 'low,high', if the factor varies with compute."),
    ] = None,
    form: Annotated[str, typer.Option(help="Form of the law: power_law, power_law_offset or auto.")] = "auto",
    level: Annotated[float, typer.Option(help="Confidence level of the interval, e.g. 0.9.")] = 0.9,
    at_least: Annotated[
        float | None,
        typer.Option(
            help="Exit with status 1 unless the low end of the interval reaches this factor, e.g. 1.2."
        ),
    ] = None,
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """How many times less compute recipe A needs than recipe B for the same loss.

    scalinglab laws speedup new.csv old.csv

    scalinglab laws speedup new.csv old.csv --at-least 1.02    (a gate: status 1 where it is not reached)
    """
    import pandas as pd

    import scalinglab as sl
    from scalinglab.laws.fitting.data.from_curves import points_of

    if at_least is not None and not at_least > 0:
        raise BadInput(f"--at-least {at_least:g} must be positive: 1.02 asks for 2 % less compute than B")
    asked = [ask(file, x, y, where, reduce, column=column, as_json=as_json) for file in (a, b)]
    sides = [(t.x, t.y, t.runs) for t in (points_of(q.frame, **q.points) for q in asked)]
    place = None if at is None else grid(at)
    found = sl.laws.speedup(
        *sides, at=place, parallel=place is None, form=form, level=level,
        nan_policy="drop" if drop_bad else "raise",
    )  # fmt: skip
    say(found.summary(), as_json)
    document: dict[str, Any] = {
        "factor": found.factor, "low": found.low, "high": found.high, "level": level, "at": list(found.at),
        "form": "power_law" if "offset" in found.law.form.held else "power_law_offset",
    }  # fmt: skip
    document |= drawing.draw(lambda: found.plot(x=x, y=y).figure, a, "speedup")
    if at_least is not None:
        document["passed"] = found.low >= at_least
        verdict = "passed" if document["passed"] else "not reached"
        say(f"{verdict}: the low end is {found.low:.3g}, asked for was {at_least:g}", as_json)
    finish(
        document,
        pd.DataFrame([{k: v for k, v in document.items() if k not in ("at", "figure")}]),
        as_json,
        out,
    )
    if at_least is not None and not document["passed"]:
        raise typer.Exit(1)


def _schedule_table(file: Path, wanted: dict[str, str], column: list[str] | None) -> Any:
    """A table of any kind whose columns have the names wanted, found by the standard names they stand for."""
    from scalinglab.curves.names import aliases
    from scalinglab.curves.numbers import numbers
    from scalinglab.readers.tables.files import read_file

    frame, _ = read_file(file)
    frame = frame.rename(columns={theirs: ours for ours, theirs in renamed(column).items()})
    known = aliases(frame.columns)
    for name, standard in wanted.items():
        others = [*known.get(standard, ()), *known.get(standard.replace("train", "test"), ())]
        if name not in frame and others:
            frame = frame.rename(columns={others[0]: name})
        if name in frame and frame[name].dtype.kind not in "iuf":
            found = numbers(frame[name])
            frame = frame if found is None else frame.assign(**{name: found[0]})
    return frame


def schedule(
    files: Annotated[
        list[Path], typer.Argument(help="One table per run with the columns step, lr and loss.")
    ],
    predict: Annotated[
        list[Path] | None,
        typer.Option(help="Predict the run with the schedule of this table (step, lr). Repeatable."),
    ] = None,
    best: Annotated[
        float | None, typer.Option(help="Find the best schedule with this many steps, e.g. 24000.")
    ] = None,
    warmup: Annotated[
        float, typer.Option(help="Steps of linear warm-up before the first row, e.g. 2160.")
    ] = 0,
    law: Annotated[str, typer.Option(help="Schedule law: multi_power or annealing.")] = "multi_power",
    rate: Annotated[str, typer.Option(help="The column of the learning rate, e.g. lr.")] = "lr",
    y: Annotated[str, typer.Option("--y", help="The column of the loss, e.g. loss.")] = "loss",
    column: option.Columns = None,
    drop_bad: option.DropBad = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """The loss along a training as a law of its learning-rate schedule, fitted on two or three runs.

    scalinglab laws schedule cosine.csv constant.csv drop.csv --warmup 2160 --predict wsd.csv --best 24000
    """
    import numpy as np
    import pandas as pd

    from scalinglab.laws import schedule as schedules

    def read(file: Path) -> tuple[Any, pd.DataFrame]:
        frame = _schedule_table(file, {"step": "step", rate: "learning_rate", y: "train_loss"}, column)
        for name in ("step", rate):
            if name not in frame:
                raise BadInput(
                    f"{file} has no column {name!r}: it has {', '.join(map(str, frame.columns))}; "
                    f"name it with --column {name}=THEIRS"
                )
        return schedules.recorded(frame["step"], frame[rate], warmup), frame

    runs = [read(file) for file in files]
    if missing := [f for f, (_, frame) in zip(files, runs, strict=True) if y not in frame]:
        raise BadInput(f"{missing[0]} has no column {y!r}, the loss")
    used = [frame.dropna(subset=[y]) if drop_bad else frame for _, frame in runs]
    fitted = schedules.fit([(p, f["step"], f[y]) for (p, _), f in zip(runs, used, strict=True)], law)
    say(fitted.summary(), as_json)
    rows = []
    for file in predict or []:
        plan, frame = read(file)
        low, high = fitted.interval(plan, frame["step"])
        loss = fitted.predict(plan, frame["step"])
        predicted = pd.DataFrame(
            {"run": file.stem, "step": frame["step"], "loss": loss, "low": low, "high": high}
        )
        line = f"{file.stem}: ends at {predicted['loss'].iloc[-1]:.4f}, 95 % [{low[-1]:.4f}, {high[-1]:.4f}]"
        if y in frame:
            line += f"; mean absolute error {np.mean(np.abs(predicted['loss'] - frame[y])):.5f}"
        say(line, as_json)
        rows.append(predicted)
    document: dict[str, Any] = {"law": law, "parameters": fitted.parameters, "misfit": fitted.misfit}
    table = pd.concat(rows) if rows else pd.DataFrame()
    if best is not None:
        plan = fitted.best_schedule(best, warmup=warmup)
        final = float(fitted.predict(plan, [best])[0])
        top = plan.rate.max()
        half = plan.step[plan.rate >= 0.5 * top][-1]
        say(
            f"best non-increasing schedule of {best:g} steps ends at {final:.4f}: above half of its peak "
            f"{top:.3g} until step {half:.0f}, {plan.rate[-1]:.2g} at the end (--json: every rate)",
            as_json,
        )
        document["best"] = {"step": plan.step, "rate": plan.rate, "loss": final}
        if not rows:
            table = pd.DataFrame({"step": plan.step, "rate": plan.rate})
    document["predictions"] = pd.concat(rows).to_dict("records") if rows else []
    finish(document, table, as_json, out)
