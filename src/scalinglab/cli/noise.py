"""``scalinglab laws noise`` and ``scalinglab plan noise``: the best SGD noise by width, and advice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from scalinglab.cli.output import Output
from scalinglab.cli.registry import command
from scalinglab.cli.tables import Rows
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    from scalinglab.curves import Curves


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
    rise: float | None = None,
) -> Output:
    """Find the optimal SGD noise of every width, and whether it grows in proportion to width.

    Intervals come from resampling runs, within width and level, through the whole selection.

    scalinglab laws noise runs/

    scalinglab laws noise runs/ --search both --times --rise 0.25

    scalinglab laws noise runs.csv --n-data 50000 --parameterization standard

    scalinglab laws noise runs.csv --x learning_rate --y test_accuracy --where batch_size=96 --width-column w

    Args:
        x: the column that was searched, e.g. batch_size.
        y: test_accuracy, test_error or a loss.
        width_column: the column of the width. Default: widening_factor (units of a hidden layer of an mlp,
            the paper's w), else width (a multiple of the family's base).
        search: 'all' runs by their noise, only the 'batch' or the 'rate' search, or 'both', compared.
        times: also find the optimum at fractions of the training time.
        rise: also find the noise at which the error is this fraction above its best, e.g. 0.25.
    """
    from scalinglab.figures import noise as figures
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
    for heading, (part, into) in wanted.items():
        if times:
            along = noise.over_time(part, **columns)
            lines.append(heading + along.summary())
            into["times"] = along.to_dict()
        if rise is not None:
            most = noise.tolerance(part, rise=rise, **columns)
            lines.append(heading + most.summary())
            into["tolerance"] = {
                "rise": rise, "noise": most.noise, "interval": most.interval,
                "exponent": asdict(most.exponent),
            }  # fmt: skip
    return Output(document, found.table(), "\n".join(lines), figure=lambda: figures.noise(found))


@command("plan noise", figure="noise-plan")
def plan_noise(rows: Searches, width: float, y: str | None = None, search: str = "all") -> Output:
    """Batch size and learning rate for another width, the expected gain, and the critical width.

    Needs runs at three widths or more, each with a search over batch sizes or learning rates and two seeds or
    more. Stops with the reason where the runs do not determine it.

    scalinglab plan noise runs/ --width 8

    scalinglab plan noise runs/ --width 8 --y test_error --search batch --json

    Args:
        width: the width to plan for, as the runs count theirs: a multiple of the base width in runs of
            scalinglab, e.g. 8.
        y: test_accuracy, test_error or a loss.
        search: use 'all' runs, or only those of the 'batch' or of the 'rate' search.
    """
    import pandas as pd

    from scalinglab.figures import noise as figures
    from scalinglab.laws.planning import sgd_noise_advice as advising

    settings = ("normalized_noise_scale", "width", "widening_factor")
    advice = advising.noise(rows.searched(search, settings, ("all", "batch", "rate")), width, y=y)
    document = advising.record(advice)
    quantities = [
        {"quantity": name, **{k: v for k, v in value.items() if k != "stderr"}}
        for name, value in document.items()
        if isinstance(value, dict)
    ]
    return Output(document, pd.DataFrame(quantities), advice.summary(), figure=lambda: figures.advice(advice))
