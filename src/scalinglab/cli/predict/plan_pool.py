"""``scalinglab plan pool``: the next experiments from a pool with costs, for any form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.tables import finish, pairing, read_table, say
from scalinglab.errors import BadInput


def pool(
    file: Annotated[Path, typer.Argument(help="The runs at hand: a table, a store or logs.")],
    candidates: Annotated[
        Path, typer.Option("--pool", help="Table of possible experiments, one per row, e.g. pool.csv.")
    ],
    target: Annotated[
        Path, typer.Option(help="Table of the points to predict, one per row, e.g. target.csv.")
    ],
    budget: Annotated[float, typer.Option(help="Budget, in the unit of the cost, e.g. 1e21.")],
    form: option.FormName = "chinchilla",
    cost: Annotated[str, typer.Option(help="The column of costs in the pool.")] = "cost",
    y: Annotated[str, typer.Option("--y", help="The measured column, e.g. loss.")] = "loss",
    variable: option.Variables = None,
    column: option.Columns = None,
    space: Annotated[str, typer.Option(help="Take residuals of 'log' or 'raw' values.")] = "log",
    most: Annotated[int | None, typer.Option(help="Largest number of experiments to choose, e.g. 4.")] = None,
    tolerance: Annotated[
        float,
        typer.Option(help="Stop where an experiment reduces the error in the target by less than this."),
    ] = 0.01,
    doubt: Annotated[
        float,
        typer.Option(help="Assumed error of the form, in standard deviations of y; 0 for an exact form."),
    ] = 0.02,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Which experiments of a pool most reduce the error in a target region, within a budget; for any form.

    Run the batch, add its results to the runs, and ask again, until none is worth its cost.

    scalinglab plan pool runs.csv --pool pool.csv --target target.csv --budget 1e21 --form data_constrained
    """
    import numpy as np

    from scalinglab.laws import fit, forms
    from scalinglab.laws.planning.pool import choose

    chosen = forms.get(form)
    asked = pairing("--var", variable, "VARIABLE=COLUMN, as in --var n_experts=E")
    tables = [read_table(path, column, as_json=as_json) for path in (file, candidates, target)]

    def sizes(table: Any) -> np.ndarray:
        names = [table.resolve(asked.get(v, v)) for v in chosen.variables]
        if missing := [n for n in names if n not in table.frame]:
            raise BadInput(f"no column {missing[0]!r}: name it with --var {missing[0]}=COLUMN")
        return np.asarray(table.frame[names].to_numpy(float))

    runs, could, wanted = (sizes(table) for table in tables)
    price = tables[1].resolve(cost)
    if price not in tables[1].frame:
        raise BadInput(f"the pool has no column {cost!r}: name that of the costs with --cost")
    given = tuple(runs.T) if len(chosen.variables) > 1 else runs[:, 0]
    law = fit(chosen, given, tables[0].frame[tables[0].resolve(y)].to_numpy(float), space=space)
    prices = tables[1].frame[price].to_numpy(float)
    found = choose(law, could, prices, wanted, budget=budget, most=most, tolerance=tolerance, doubt=doubt)
    say(found.summary(), as_json)
    table = tables[1].frame.iloc[found.index].assign(deviation_after=found.after)
    document = {"before": found.before, "after": found.after, "rows": found.index, "cost": found.cost}
    finish({**document, "budget": budget}, table, as_json, out)
