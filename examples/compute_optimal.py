"""The best model for a compute: a surface L(n_params, n_data), and three approaches.

python examples/compute_optimal.py
"""

from __future__ import annotations

import numpy as np

import scalinglab as sl


def main() -> None:
    rng = np.random.default_rng(0)
    n, compute = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 8), np.geomspace(1e19, 1e22, 6)))
    d = compute / (6 * n)
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.exp(0.003 * rng.standard_normal(n.size))

    surface = sl.laws.surface.fit(n, d, loss)
    print(surface.summary(), "\n")
    print(surface.compute_optimal([1e23, 1e24]).summary(), "\n")
    print(sl.laws.plan.approaches(n, d, loss, compute=1e24, draws=50).summary())


if __name__ == "__main__":
    main()
