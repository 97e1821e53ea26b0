"""How well the solved curve lies on trained networks: measured over solved test loss, by network and size.

    python benchmarks/explain.py                                      the bundled digits, minutes on two cores
    python benchmarks/explain.py --only mnist mnist-lazy mnist-rich --sizes 32 128 512
    python benchmarks/explain.py --only mnist cnn --sizes 512 4096    best on a GPU
    python benchmarks/explain.py --print rows.json …                  the tables of rows kept by --out
    python benchmarks/explain.py --predict                            sizes that were not run, minutes
    python benchmarks/explain.py --predict narrow --seeds 4           of one family of networks

A number is measured over solved loss at the last checkpoint, and in brackets its range over all checkpoints
after the second. "kernel descent" is the loss of descent with the same kernel on other draws of the examples
over the solved loss: the theory's own error, without any network. All train with squared loss and gradient
descent on all examples. *lazy* is the linearised network, for which the theory is exact but for its draw of
examples; *rich* is a narrow network in standard parameterization, which learns features; *cnn* is a network
of 5 layers and 16 channels on CIFAR-10, animate against inanimate. The kernel is measured on 1,024 inputs,
or on twice the examples where that is more.

The learning rate of *cnn* is chosen by a rule that looks at its kernel alone, see `rate_by_rule`.

`--predict` trains networks of three widths on 48, 128 and 340 examples, explains the run of 128 and predicts
the loss at four other sizes (`Explanation.predict`), for several seeds: from the three runs, and from that of
128 alone. It also predicts the two other widths from the middle one. It prints the median error and how often
the 90 % band holds the loss of the run that is then trained. Families: *ntk*, 64 to 1,024 hidden units in NTK
parameterization, *narrow*, 8 to 32, *standard*, 16 to 256 in standard parameterization; and a user's own
`nn.Sequential` with PyTorch's initial weights on tensors of one's own, 16 to 256 units: *own*, a regression,
and *own-classes*, two hidden layers on classes.
"""

import argparse
import functools
import itertools
import json
import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

import scalinglab as sl
from scalinglab.errors import NotDetermined
from scalinglab.explanations import case as cases
from scalinglab.explanations import theory
from scalinglab.train.setting import Setting

COMMON = {
    "loss": "mse", "optimizer": "sgd", "full_batch": True, "checkpoints_per_decade": 3, "measure": [],
    "evaluate_at_most": 500,
}  # fmt: skip
MLP = {
    "model": "mlp", "depth": 1, "model_options": {"hidden": 512}, "parameterization": "ntk",
    "learning_rate": 2.0, "steps": 1000,
}  # fmt: skip
RICH = {"parameterization": "standard", "learning_rate": 0.1, "model_options": {"hidden": 32}}
MNIST = MLP | {"dataset": "mnist", "test_size": 2000}
ANIMATE = [0, 0, 1, 1, 1, 1, 1, 1, 0, 0]  # by class of CIFAR-10
SMALL, LARGE = (32, 128, 512), (32, 128, 512, 4096)
NETWORKS = {
    "digits": (MLP | {"dataset": "digits"}, SMALL),
    "lazy": (MLP | {"dataset": "digits", "linearized": True}, SMALL),
    "rich": (MLP | {"dataset": "digits"} | RICH, SMALL),
    "mnist": (MNIST, LARGE),
    "mnist-lazy": (MNIST | {"linearized": True}, LARGE),
    "mnist-rich": (MNIST | RICH | {"learning_rate": 0.03}, LARGE),  # its kernel allows up to 0.05
    "cnn": (
        {"model": "myrtle", "dataset": "cifar10", "superclass": ANIMATE, "width": 2.0,
         "parameterization": "ntk", "momentum": 0.9, "steps": 1000, "test_size": 1000},
        LARGE,
    ),
}  # fmt: skip


@functools.cache
def rate_by_rule(name: str, inputs: int = 1024) -> float:
    """A network's learning rate, from its kernel on some inputs: a tenth of what descent on it allows.

    Nearer to the largest rate the heavy ball overshoots in its first steps, which moves the kernel. How far
    the solved loss falls at the largest number of examples is printed: whether there is more to explain than
    that the network learns the mean label.
    """
    own, sizes = NETWORKS[name]
    setting = Setting.from_dict(COMMON | own | {"learning_rate": 1.0, "n_data": sizes[0]})
    nothing = sl.Curves(pd.DataFrame({"run": [setting.run], "step": [1], "test_loss": [1.0]}))
    case = cases.of_setting(setting, nothing, inputs)
    kernel = theory.kernel_of(case)
    rate = float(f"{theory.largest_rate(case, kernel) / 10:.1g}")
    solved = theory.solve(replace(case, learning_rate=rate), kernel, np.array([own["steps"]]), sizes[-1])[0]
    mean = np.mean((case.y - case.y.mean(0)) ** 2)
    print(
        f"{name}: learning rate {rate:g}; at P = {sizes[-1]} the solved loss falls to {solved:.4f}, and that "
        f"of the mean label is {mean:.4f}",
        flush=True,
    )
    return rate


def row(name: str, n_data: int, steps: int | None = None) -> dict:
    """Train one network at one size, explain it, print and return what was found."""
    own = NETWORKS[name][0]
    setting = {"learning_rate": rate_by_rule(name)} if "learning_rate" not in own else {}
    setting |= COMMON | own | {"n_data": n_data} | ({"steps": steps} if steps else {})
    start = time.perf_counter()
    found = sl.explain(setting, samples=max(1024, 2 * n_data))
    ratio = found.ratio[2:]
    own = float("nan") if found.redrawn is None else float(found.redrawn[-1] / found.theory[-1])
    result = {
        "network": name, "n_data": n_data, "steps": setting["steps"], "end": float(found.ratio[-1]),
        "low": float(np.min(ratio)), "high": float(np.max(ratio)), "regime": found.regime,
        "theory_error": own, "bottleneck": found.bottleneck, "scatter": found.scatter,
        "loss": float(found.measured[-1]), "learning_rate": setting["learning_rate"],
        "doublings": {d.resource: d.factor for d in found.doublings}, "outside": list(found.outside),
    }  # fmt: skip
    print(
        f"{name:10s} P = {n_data:5d}: {result['end']:.2f} ({result['low']:.2f} to {result['high']:.2f}), "
        f"± {found.scatter:.2f}, kernel descent {own:.2f}, {found.regime}, held by {found.bottleneck}, "
        f"{time.perf_counter() - start:.0f} s " + "; ".join(found.outside),
        flush=True,
    )
    return result


def tables(rows: list[dict]) -> str:
    """Two tables by network and examples: the ratio with its range, and kernel descent over theory."""
    sizes = sorted({row["n_data"] for row in rows})
    found = {(row["network"], row["n_data"]): row for row in rows}  # the last of those that come twice

    def table(cell: Callable[[dict], str]) -> str:
        lines = [["network", *(f"P = {size}" for size in sizes)], ["---"] * (1 + len(sizes))]
        for name in NETWORKS:
            cells = [found.get((name, size)) for size in sizes]
            if any(cells):
                lines.append([f"`{name}`", *("–" if one is None else cell(one) for one in cells)])
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    return "\n\n".join(
        [
            "measured over solved loss at the end, and its range",
            table(lambda one: f"{one['end']:.2f} ({one['low']:.2f} to {one['high']:.2f})"),
            "descent with the kernel on other draws, over solved loss",
            table(lambda one: f"{one['theory_error']:.2f}"),
        ]
    )


RUN, UNSEEN = (48, 128, 340), (32, 64, 256, 512)
EXPLAINED = 128
PREDICTED = COMMON | {"steps": 300}
DIGITS = PREDICTED | MLP | {"dataset": "digits", "steps": 300}


def perceptron(setting: Mapping[str, Any]) -> nn.Sequential:
    """Linear layers and ReLU, as anyone writes them down."""
    inputs, units = math.prod(setting["input_shape"]), setting["width"]
    hidden = [nn.Linear(inputs, units), nn.ReLU()]
    for _ in range(1, setting["layers"]):
        hidden += [nn.Linear(units, units), nn.ReLU()]
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(units, setting["n_outputs"]))


def regression() -> tuple[torch.Tensor, ...]:
    """A noisy sum of 20 tanh units of 10 normal inputs: 1,500 examples to train on and 1,000 to test."""
    random = torch.Generator().manual_seed(1)
    x, noise = torch.randn(2500, 10, generator=random), torch.randn(2500, 1, generator=random)
    first, last = torch.randn(10, 20, generator=random), torch.randn(20, 1, generator=random)
    y = torch.tanh(2 * x @ first / 10**0.5) @ last / 20**0.5 + 0.1 * noise
    return x[:1500], y[:1500], x[1500:], y[1500:]


def classes() -> tuple[np.ndarray, ...]:
    """The digits as arrays."""
    data = sl.data.load("digits").normalize()
    return data.inputs("train"), data.train_y, data.inputs("test"), data.test_y


OWN = PREDICTED | {"model": perceptron, "layers": 1, "learning_rate": 0.03}
FAMILIES = {  # settings, and three widths: hidden units
    "ntk": (DIGITS, (64, 256, 1024)),
    "narrow": (DIGITS, (8, 16, 32)),
    "standard": (DIGITS | {"parameterization": "standard", "learning_rate": 0.03}, (16, 64, 256)),
    "own": (OWN | {"dataset": regression}, (16, 64, 256)),
    "own-classes": (OWN | {"dataset": classes, "layers": 2, "learning_rate": 0.3}, (16, 64, 256)),
}


def predict(family: str, seeds: int) -> None:
    """Predict the losses of networks at sizes that were not run, then train them."""
    rows = []
    shared, units = FAMILIES[family]
    if shared["model"] == "mlp":
        shared = shared | {"model_options": {"hidden": units[1]}}
        widths = [count / units[1] for count in units]
    else:
        widths = list(units)

    def held(what: str, told: sl.explanations.Predicted, truth: Sequence[float]) -> None:
        for mean, low, high, loss in zip(told.mean, told.low, told.high, truth, strict=True):
            rows.append((what, mean / loss - 1, low <= loss <= high, np.log(high / low)))

    with tempfile.TemporaryDirectory() as store:
        for width, seed in itertools.product(widths, range(seeds)):
            setting = shared | {"width": width, "seed": seed}
            sl.train.run_many([setting | {"n_data": n} for n in RUN], store=store, progress=False)
            found = sl.explain(setting | {"n_data": EXPLAINED}, store=store, samples=2 * UNSEEN[-1])
            told = found.predict(n_data=UNSEEN, level=0.9)
            trained = sl.train.run_many([setting | {"n_data": n} for n in UNSEEN], progress=False).frame
            losses = trained[trained["step"] == shared["steps"]].set_index("n_data")["test_loss"]
            truth = [float(losses[n]) for n in UNSEEN]
            for n, mean, low, high, loss in zip(UNSEEN, told.mean, told.low, told.high, truth, strict=True):
                print(
                    f"{family}, width {width:5g}, P = {n:4d}, seed {seed}: predicted {mean:.4f} ({low:.4f} "
                    f"to {high:.4f}), trained {loss:.4f}, {mean / loss - 1:+.1%}",
                    flush=True,
                )
            held("sizes, from three runs", told, truth)
            alone = replace(found, case=replace(found.case, beside=()))
            held("sizes, from one run", alone.predict(n_data=UNSEEN, level=0.9), truth)
            for other in [w for w in widths if w != width] if width == widths[1] else []:
                try:
                    told = found.predict(width=other, level=0.9)
                except NotDetermined as error:
                    print(f"{family}, width {other:g}, refused: {error}")
                    continue
                run = sl.train.run(setting | {"width": other, "n_data": EXPLAINED}, progress=False)
                held("widths", told, [float(run.frame["test_loss"].iloc[-1])])
    table = pd.DataFrame(rows, columns=["what", "error", "held", "band"])
    for what, part in table.groupby("what"):
        print(
            f"{family}, other {what}: median error {part.error.abs().median():.1%}, the 90 % band holds "
            f"{part.held.sum()} of {len(part)} and spans a factor of {np.exp(part.band.median()):.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=["digits", "lazy", "rich"], choices=list(NETWORKS))
    parser.add_argument("--sizes", type=int, nargs="+", help="Only these numbers of examples.")
    parser.add_argument("--steps", type=int, help="Steps in place of the usual ones.")
    parser.add_argument("--out", help="A JSON file for the rows.")
    parser.add_argument(
        "--predict", nargs="*", choices=FAMILIES, metavar="FAMILY", help="Predict sizes that were not run."
    )
    parser.add_argument("--seeds", type=int, default=2, help="Of --predict.")
    parser.add_argument("--print", nargs="+", metavar="ROWS", help="Only print the tables of such files.")
    arguments = parser.parse_args()
    if arguments.print:
        print(tables([one for path in arguments.print for one in json.loads(Path(path).read_text())]))
        return
    if arguments.predict is not None:
        for family in arguments.predict or FAMILIES:
            predict(family, arguments.seeds)
        return
    rows = []
    for name in arguments.only:
        for n_data in [size for size in NETWORKS[name][1] if not arguments.sizes or size in arguments.sizes]:
            rows.append(row(name, n_data, arguments.steps))
            if arguments.out:  # as it goes
                Path(arguments.out).write_text(json.dumps(rows, indent=1))
    print(tables(rows))


if __name__ == "__main__":
    main()
