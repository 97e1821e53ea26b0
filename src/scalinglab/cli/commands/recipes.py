"""``scalinglab laws speedup``, ``schedule`` and ``noise``: laws of how one trains."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scalinglab.cli.options import ARGUMENT, Columns, File, Numbers
from scalinglab.cli.output import Output
from scalinglab.cli.registry import command
from scalinglab.cli.tables import Rows, read_table
from scalinglab.errors import BadInput, nearest

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.curves import Curves


@command("laws speedup", figure="speedup")
def speedup(
    a: File,
    b: File,
    x: str = "compute",
    y: str | None = None,
    at: Numbers | None = None,
    at_least: float | None = None,
    column: Columns | None = None,
) -> Output:
    """Estimate how many times less compute recipe A needs than recipe B for the same loss.

    scalinglab laws speedup new.csv old.csv --x flops --y val_loss --at 1e20,1e22

    scalinglab laws speedup new.csv old.csv --at-least 1.02    (a gate: status 1 if it is not reached)

    Args:
        a: recipe A: a table, a store or logs, e.g. new.csv.
        b: recipe B, the baseline, e.g. old.csv.
        x: the column of compute in FLOPs, e.g. compute.
        y: the column of the loss. Default: loss, else the measurement there is.
        at: compute in FLOPs, e.g. 1e21, or 'low,high', if the factor varies with compute.
        at_least: exit with status 1 unless the low end of the interval reaches this factor, e.g. 1.2.
    """
    import scalinglab as sl
    from scalinglab.answers.fitted import choose

    if at_least is not None and not at_least > 0:
        raise BadInput(f"--at-least {at_least:g} must be positive: 1.02 asks for 2 % less compute than B")
    recipes = [choose(Rows(file=file, column=column).curves([x]), x, y) for file in (a, b)]
    points = ((one.table.x, one.table.y, one.table.runs) for one in recipes)
    found = sl.laws.speedup(*points, at=at, parallel=at is None)
    text, status = found.summary(), 0
    document: dict[str, Any] = {
        "factor": found.factor, "low": found.low, "high": found.high, "level": found.level,
        "at": list(found.at),
        "form": "power_law_offset" if "offset" in found.law.parameters else "power_law",
    }  # fmt: skip
    if at_least is not None:
        document["passed"] = found.low >= at_least
        status = 0 if document["passed"] else 1
        verdict = "passed" if document["passed"] else "not reached"
        text += f"\n{verdict}: the low end is {found.low:.3g}, asked for was {at_least:g}"
    row = {name: value for name, value in document.items() if name != "at"}
    return Output(document, [row], text, figure=lambda: found.plot(x=x, y=recipes[0].y).figure, status=status)


@command("laws schedule")
def schedule(
    files: Annotated[list[Path], ARGUMENT],
    predict: list[Path] | None = None,
    best: float | None = None,
    warmup: float = 0,
    column: Columns | None = None,
) -> Output:
    """Fit a law of the learning-rate schedule to the losses of two or three runs, and predict others.

    scalinglab laws schedule cosine.csv constant.csv drop.csv --warmup 2160 --predict wsd.csv --best 24000

    scalinglab laws schedule a.csv b.csv --column lr=my_rate --column loss=train_loss

    Args:
        files: tables or logs of one run or several, with the columns step, lr and loss; rows without a loss
            do not count.
        predict: predict the run with the schedule of this table (step, lr). Repeatable.
        best: find the best schedule with this many steps, e.g. 24000.
        warmup: steps of linear warm-up before the first row, e.g. 2160.
    """
    import numpy as np
    import pandas as pd

    from scalinglab.laws import schedule as schedules

    def read(file: Path, *needed: str) -> list[tuple[str, Any, pd.DataFrame]]:
        """Name, schedule and rows of every run of a table, log or folder."""
        table = read_table(file, column, printed=False)
        likely = {"step": ("step",), "lr": ("learning_rate",), "loss": ("train_loss", "test_loss")}
        # a rate that changes within a run is read as current_learning_rate, beside the highest of the run
        known = {name: next((c for c in (f"current_{table.resolve(name)}", table.resolve(name), *others)
                             if c in table.frame), name)
                 for name, others in likely.items()}  # fmt: skip
        frame = table.frame.rename(columns={theirs: ours for ours, theirs in known.items()})
        for name in needed:
            if name not in frame:
                raise BadInput(
                    f"{file} has no column {name!r}: name it with --column {name}=THEIRS; "
                    f"{nearest(name, map(str, frame.columns))}"
                )
        frame = frame.sort_values("step", kind="stable")
        frame = frame.dropna(subset=["loss"]) if "loss" in needed else frame
        # a row of a table without a column of runs may be called a run
        several = "run" in frame and 1 < frame["run"].nunique() < len(frame) / 2
        runs = frame.groupby("run", sort=False) if several else [(file.stem, frame)]
        return [(str(run), schedules.recorded(own["step"], own["lr"], warmup), own) for run, own in runs]

    known = [run for file in files for run in read(file, "step", "lr", "loss")]
    fitted = schedules.fit([(plan, frame["step"], frame["loss"]) for _, plan, frame in known])
    lines, rows = [fitted.summary()], []
    for name, plan, frame in (run for file in predict or [] for run in read(file, "step", "lr")):
        low, high = fitted.interval(plan, frame["step"])
        loss = fitted.predict(plan, frame["step"])
        lines.append(f"{name}: ends at {loss[-1]:.4f}, 95 % [{low[-1]:.4f}, {high[-1]:.4f}]")
        if "loss" in frame:
            lines[-1] += f"; mean absolute error {np.mean(np.abs(loss - frame['loss'])):.5f}"
        rows.append(
            pd.DataFrame({"run": name, "step": frame["step"], "loss": loss, "low": low, "high": high})
        )
    table = pd.concat(rows) if rows else pd.DataFrame()
    document: dict[str, Any] = {"parameters": fitted.parameters, "misfit": fitted.misfit}
    if best is not None:
        plan = fitted.best_schedule(best, warmup=warmup)
        final = float(fitted.predict(plan, [best])[0])
        top = plan.rate.max()
        half = plan.step[plan.rate >= 0.5 * top][-1]
        lines.append(
            f"best non-increasing schedule of {best:g} steps ends at {final:.4f}: above half of its peak "
            f"{top:.3g} until step {half:.0f}, {plan.rate[-1]:.2g} at the end (--json: every rate)"
        )
        document["best"] = {"step": plan.step, "rate": plan.rate, "loss": final}
        table = table if rows else pd.DataFrame({"step": plan.step, "rate": plan.rate})
    document["predictions"] = pd.concat(rows).to_dict("records") if rows else []
    return Output(document, table, "\n".join(lines))


@dataclass(frozen=True, kw_only=True)
class Searches(Rows):
    """Runs of searches, and settings that their table leaves out.

    Args:
        n_data: training examples, where the table has no n_data.
        parameterization: 'standard' (PyTorch's own) or 'ntk', where the table does not give it.
        momentum: momentum, where the table has none. Default: 0.
    """

    n_data: float | None = None
    parameterization: str | None = None
    momentum: float | None = None

    def searched(self, which: str, settings: tuple[str, ...], known: tuple[str, ...]) -> Curves:
        """The runs, or those of one search."""
        from scalinglab.laws import noise

        if which not in known:
            raise BadInput(f"--search {which}: choose from {', '.join(known)}")
        curves = noise.assume(
            self.curves(settings), n_data=self.n_data, parameterization=self.parameterization,
            momentum=self.momentum,
        )  # fmt: skip
        if which not in ("batch", "rate"):
            return curves
        both = noise.searches(curves)
        if which not in both:
            raise BadInput(f"--search {which}: the runs hold a search over {' and '.join(both)} only")
        return both[which]


@command("laws noise", figure="noise")
def laws_noise(
    rows: Searches,
    x: str = "normalized_noise_scale",
    y: str | None = None,
    width_column: str | None = None,
    search: str = "all",
    times: bool = False,
) -> Output:
    """Find the optimal SGD noise of every width, and whether it grows in proportion to width.

    Intervals come from resampling runs, within width and level, through the whole selection.

    scalinglab laws noise runs/

    scalinglab laws noise runs/ --search both --times

    scalinglab laws noise runs.csv --n-data 50000 --parameterization standard

    scalinglab laws noise runs.csv --x learning_rate --y test_accuracy --where batch_size=96 --width-column w

    Args:
        x: the column that was searched, e.g. batch_size.
        y: test_accuracy, test_error or a loss.
        width_column: the column of the width. Default: widening_factor (units of a hidden layer of an mlp,
            the paper's w), else width (a multiple of the family's base).
        search: 'all' runs by their noise, only the 'batch' or the 'rate' search, or 'both', compared.
        times: also find the optimum at fractions of the training time.
    """
    from scalinglab.figures import decisions as figures
    from scalinglab.laws import noise

    settings = (x, *((width_column,) if width_column else ("width", "widening_factor")))
    curves = rows.searched(search, settings, ("all", "batch", "rate", "both"))
    columns: dict[str, Any] = {"x": x, "y": y, "width": width_column}
    if search == "both":
        compared = noise.compare(curves, **columns)
        found, lines = compared.batch, [compared.summary()]
        by_rate = compared.rate.to_dict()
        document = found.to_dict() | {"by_rate": by_rate, "ratio": asdict(compared.ratio)}
        document["best_difference"] = asdict(compared.best_difference)
        parts = noise.searches(curves)
        wanted = {"\nbatch search\n": (parts["batch"], document), "\nrate search\n": (parts["rate"], by_rate)}
    else:
        found = noise.optimal_noise(curves, **columns)
        document, lines = found.to_dict(), [found.summary()]
        wanted = {"\n": (curves, document)}
    for heading, (part, into) in wanted.items() if times else ():
        along = noise.over_time(part, **columns)
        lines.append(heading + along.summary())
        into["times"] = along.to_dict()
    return Output(document, found.table(), "\n".join(lines), figure=lambda: figures.noise(found))
