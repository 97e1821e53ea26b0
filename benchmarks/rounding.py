"""How far rounding moves a perceptron: relative changes of 1e-7 in its initial weights, 41 steps later.

    python benchmarks/rounding.py                                # two layers, batch 50, MNIST, on a CPU
    python benchmarks/rounding.py --dataset digits --batch-size 32

Most changes stay at 1e-7. Where an example comes within rounding of the kink of a unit's ReLU, its part of
the gradient, a share 1 / batch of it, is there in one run and missing in the other: the runs jump apart.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from scalinglab.train import jobs
from scalinglab.train.setting import Setting


def weights_after(setting: dict, steps: int, change: int | None) -> dict[str, torch.Tensor]:
    """Weights after some steps; the initial ones are changed by 1e-7 where `change` is a seed."""
    group = jobs.build([Setting.from_dict(setting)], torch.device("cpu"))
    if change is not None:
        generator = torch.Generator().manual_seed(change)
        with torch.no_grad():
            for weights in group.parameters.values():
                weights.mul_(1 + 1e-7 * torch.randn(weights.shape, generator=generator))
    group.advance(steps)
    return {name: weights.detach().clone() for name, weights in group.parameters.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="How far rounding moves a perceptron.")
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--steps", type=int, default=41)
    parser.add_argument("--changes", type=int, default=12)
    options = parser.parse_args()
    setting = {
        "model": "mlp", "dataset": options.dataset, "n_data": 1000 if options.dataset == "digits" else 5000,
        "width": 0.5, "depth": options.depth, "parameterization": "ntk", "normalize": "centred",
        "optimizer": "nesterov", "learning_rate": 0.5, "batch_size": options.batch_size,
        "seed": 1, "steps": 1000, "measure": [],
    }  # fmt: skip
    unchanged = weights_after(setting, options.steps, None)
    print("largest difference of a parameter's entries, over its largest entry")
    for seed in range(options.changes):
        changed = weights_after(setting, options.steps, seed)
        far = {name: (changed[name] - w).abs().max() / w.abs().max() for name, w in unchanged.items()}
        print(f"change {seed:2d}:", "  ".join(f"{name} {value.item():.1e}" for name, value in far.items()))


if __name__ == "__main__":
    main()
