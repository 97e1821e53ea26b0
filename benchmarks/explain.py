"""How well the solved curve lies on trained networks: measured over solved test loss, by network and size.

    python benchmarks/explain.py                          the bundled digits, minutes on two cores
    python benchmarks/explain.py --only mnist cnn         MNIST, and a CNN on CIFAR-100's 20 superclasses

A number is measured over solved loss at the last checkpoint, and in brackets its range over all checkpoints
after the second. All train with squared loss and gradient descent on all examples. *lazy* is the linearised
network, for which the theory is exact but for its draw of examples; *rich* is a narrow network in standard
parameterization, which learns features.
"""

import argparse
import json

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
NETWORKS = {
    "digits": (MLP | {"dataset": "digits"}, (32, 128, 512), 1000),
    "lazy": (MLP | {"dataset": "digits", "linearized": True}, (32, 128), 1000),
    "rich": (
        MLP | {"dataset": "digits", "parameterization": "standard", "learning_rate": 0.1,
               "model_options": {"hidden": 32}},
        (32, 128, 512), 1000,
    ),
    "mnist": (MLP | {"dataset": "mnist", "test_size": 2000}, (32, 128, 512, 2048), 2000),
    "cnn": (
        COMMON | {"model": "myrtle", "dataset": "cifar100", "superclass": "coarse", "parameterization": "ntk",
                  "learning_rate": 5.0, "steps": 200, "test_size": 1000, "pool": 2},
        (32, 128), 500,
    ),
}  # fmt: skip


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
        setting, sizes, samples = NETWORKS[name]
        for n_data in [size for size in sizes if not arguments.sizes or size in arguments.sizes]:
            change = {"n_data": n_data} | ({"steps": arguments.steps} if arguments.steps else {})
            found = sl.explain(COMMON | setting | change, samples=samples)
            ratio = found.ratio[2:]
            row = {"network": name, "n_data": n_data, "end": float(found.ratio[-1]), "regime": found.regime,
                   "low": float(np.min(ratio)), "high": float(np.max(ratio)), "bottleneck": found.bottleneck,
                   "outside": list(found.outside)}  # fmt: skip
            rows.append(row)
            print(
                f"{name:8s} P = {n_data:5d}: {row['end']:.2f} ({row['low']:.2f} to {row['high']:.2f}), "
                f"{row['regime']}, held by {row['bottleneck']} {'; '.join(row['outside'])}",
                flush=True,
            )
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
