"""Compare trainings on handwritten digits with the theory of their kernels.

    python examples/explain.py            two runs on the bundled digits
    python examples/explain.py mnist      the same on MNIST, with more examples and a larger kernel

Each run is a network in NTK parameterization with squared loss and plain gradient descent, for which the
theory is made. The last one breaks a rule on purpose.
"""

import sys

import scalinglab as sl

DATASET = sys.argv[1] if len(sys.argv) > 1 else "digits"
SIZES, SAMPLES, STEPS = {"digits": ((16, 64), 400, 100), "mnist": ((64, 512), 2000, 1000)}[DATASET]
SETTING = {
    "model": "mlp", "dataset": DATASET, "depth": 1, "model_options": {"hidden": 256},
    "parameterization": "ntk", "loss": "mse", "optimizer": "sgd", "learning_rate": 2.0, "full_batch": True,
    "steps": STEPS, "checkpoints_per_decade": 2, "measure": [], "test_size": 350,
}  # fmt: skip

for n_data in SIZES:
    found = sl.explain(SETTING | {"n_data": n_data}, samples=SAMPLES)
    print(found.summary(), end="\n\n")

print(sl.explain(SETTING | {"n_data": 16, "steps": 5, "loss": "cross_entropy"}, samples=64).summary())
