"""From a table of errors to a law, its uncertainty, and the next run.

python examples/laws.py
"""

from __future__ import annotations

import numpy as np

import scalinglab as sl


def main() -> None:
    rng = np.random.default_rng(0)
    n_data = np.repeat(np.geomspace(100, 1e5, 10), 3)
    error = (0.05 + 3 * n_data**-0.6) * np.exp(0.03 * rng.standard_normal(n_data.size))

    law = sl.laws.fit("power_law_offset", n_data, error)
    print(law.summary())
    low, high = law.interval(1e6)
    truth = 0.05 + 3 * 1e6**-0.6
    print(f"at a million examples: {law.predict(1e6):.4f} [{low:.4f}, {high:.4f}], truly {truth:.4f}\n")

    print(sl.laws.plan.size_for(law, 0.055).text)
    print(sl.laws.plan.still_power_law(n_data, error).text, "\n")
    print(sl.laws.plan.next_runs(law, budget=5e5, at=1e6).summary())


if __name__ == "__main__":
    main()
