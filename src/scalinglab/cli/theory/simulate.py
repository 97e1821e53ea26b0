"""``scalinglab simulate``: draw the solvable models at finite size and train them."""

from __future__ import annotations

from typing import Annotated

import typer

from scalinglab.cli.shared.options import Json, Out
from scalinglab.cli.shared.output import emit, grid

app = typer.Typer(help="Simulate the solvable models at finite size.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """Simulate the solvable models at finite size."""


@app.command("perceptron")
def perceptron(
    load: Annotated[float, typer.Option(help="Load: examples per weight, e.g. 5.")],
    n_params: Annotated[
        int, typer.Option("--n-params", "--size", help="Number of weights of the student, e.g. 200.")
    ] = 200,
    seeds: Annotated[int, typer.Option(help="Number of problems drawn and averaged, e.g. 4.")] = 4,
    sharpness: Annotated[
        str | None,
        typer.Option(help="Fixed norm: sharpnesses such as '0.1:1e2:20'. Default: the norm is free."),
    ] = None,
    steps: Annotated[int, typer.Option(help="Free norm: number of descent steps, e.g. 1000.")] = 1000,
    method: Annotated[
        str, typer.Option(help="Free norm: optimizer: gradient, sgd, normalized or line_search.")
    ] = "line_search",
    learning_rate: Annotated[float, typer.Option(help="Free norm: learning rate, e.g. 0.1.")] = 0.1,
    batch_size: Annotated[int | None, typer.Option(help="Free norm: batch size of sgd, e.g. 32.")] = None,
    inputs: Annotated[str, typer.Option(help="Input distribution: rademacher or gaussian.")] = "rademacher",
    labels: Annotated[
        str, typer.Option(help="Labels: teacher, or random for the storage problem.")
    ] = "teacher",
    noise: Annotated[
        float, typer.Option(help="Fraction of the teacher's labels that are flipped, e.g. 0.1.")
    ] = 0.0,
    device: Annotated[str, typer.Option(help="Torch device: cpu or cuda.")] = "cpu",
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Train perceptrons of fixed or free norm, beside the exact theory.

    scalinglab simulate perceptron --load 5 --sharpness 0.1:1e2:8

    scalinglab simulate perceptron --load 5 --steps 500
    """
    from scalinglab.simulate import perceptron as simulate
    from scalinglab.theory import perceptron as theory

    problem = simulate.draw(load, n_params, seeds, inputs=inputs, labels=labels, noise=noise, device=device)
    if sharpness is not None:
        curves = simulate.fixed_norm(problem, grid(sharpness))
    else:
        curves = simulate.free_norm(problem, steps, learning_rate, method=method, batch_size=batch_size)
    table = (curves.average("seed") if seeds > 1 else curves).frame
    if labels == "teacher" and noise == 0:
        table = table.assign(theory=theory.fixed_norm(problem.setting["load"], table["norm"]).error)
    measured = ("norm", "test_error", "test_error_stderr", "theory", "train_loss", "margin_min")
    narrow = table[[name for name in (("step",) if sharpness is None else ()) + measured if name in table]]
    title = f"perceptron, {seeds} seeds, N = {n_params}, P = {problem.n_data}"
    document = {name: table[name].to_numpy() for name in table}
    emit(document, narrow if out is None else table, as_json=as_json, out=out, title=title)


from scalinglab.cli.theory.linear_models import linear_models  # noqa: E402
from scalinglab.cli.theory.random_features import random_features  # noqa: E402

app.command("random-features")(random_features)
app.command("linear-models")(linear_models)
