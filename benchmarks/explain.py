"""How well the solved curve lies on trained networks: measured over solved test loss, by network and size.

    python benchmarks/explain.py                                      the bundled digits, minutes on two cores
    python benchmarks/explain.py --only mnist mnist-lazy mnist-rich --sizes 32 128 512
    python benchmarks/explain.py --only mnist cnn --sizes 512 4096    best on a GPU

A number is measured over solved loss at the last checkpoint, and in brackets its range over all checkpoints
after the second. "kernel descent" is the loss of descent with the same kernel on other draws of the examples
over the solved loss: the theory's own error, without any network. All train with squared loss and gradient
descent on all examples. *lazy* is the linearised network, for which the theory is exact but for its draw of
examples; *rich* is a narrow network in standard parameterization, which learns features; *cnn* is a network
of 5 layers and 16 channels on CIFAR-10. The kernel is measured on 1,024 inputs, or on twice the
examples where that is more.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import scalinglab as sl

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
SMALL, LARGE = (32, 128, 512), (32, 128, 512, 4096)
NETWORKS = {
    "digits": (MLP | {"dataset": "digits"}, SMALL),
    "lazy": (MLP | {"dataset": "digits", "linearized": True}, SMALL),
    "rich": (MLP | {"dataset": "digits"} | RICH, SMALL),
    "mnist": (MNIST, LARGE),
    "mnist-lazy": (MNIST | {"linearized": True}, LARGE),
    "mnist-rich": (MNIST | RICH | {"learning_rate": 0.03}, LARGE),  # its kernel allows up to 0.05
    "cnn": (
        {"model": "myrtle", "dataset": "cifar10", "width": 2.0, "parameterization": "ntk",
         "learning_rate": 3.0, "steps": 200, "test_size": 1000},
        LARGE,
    ),
}  # fmt: skip


def row(name: str, n_data: int, steps: int | None = None) -> dict:
    """Train one network at one size, explain it, print and return what was found."""
    setting = COMMON | NETWORKS[name][0] | {"n_data": n_data} | ({"steps": steps} if steps else {})
    start = time.perf_counter()
    found = sl.explain(setting, samples=max(1024, 2 * n_data))
    ratio = found.ratio[2:]
    own = float("nan") if found.redrawn is None else float(found.redrawn[-1] / found.theory[-1])
    result = {
        "network": name, "n_data": n_data, "steps": setting["steps"], "end": float(found.ratio[-1]),
        "low": float(np.min(ratio)), "high": float(np.max(ratio)), "regime": found.regime,
        "theory_error": own, "bottleneck": found.bottleneck, "scatter": found.scatter,
        "loss": float(found.measured[-1]),
        "doublings": {d.resource: d.factor for d in found.doublings}, "outside": list(found.outside),
    }  # fmt: skip
    print(
        f"{name:10s} P = {n_data:5d}: {result['end']:.2f} ({result['low']:.2f} to {result['high']:.2f}), "
        f"± {found.scatter:.2f}, kernel descent {own:.2f}, {found.regime}, held by {found.bottleneck}, "
        f"{time.perf_counter() - start:.0f} s " + "; ".join(found.outside),
        flush=True,
    )
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=["digits", "lazy", "rich"], choices=list(NETWORKS))
    parser.add_argument("--sizes", type=int, nargs="+", help="Only these numbers of examples.")
    parser.add_argument("--steps", type=int, help="Steps in place of the usual ones.")
    parser.add_argument("--out", help="A JSON file for the rows.")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.only:
        for n_data in [size for size in NETWORKS[name][1] if not arguments.sizes or size in arguments.sizes]:
            rows.append(row(name, n_data, arguments.steps))
            if arguments.out:  # as it goes
                Path(arguments.out).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
