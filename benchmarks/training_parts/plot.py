"""Throughput against the number of runs, as a figure."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from training_parts.plain import BATCH


def plot(paths: list[Path], target: Path) -> None:
    """Throughput against the number of runs, from the parts cnn, resnet and scaling; later files count."""
    from scalinglab.figures import style

    every = [json.loads(path.read_text()) for path in paths]
    machine_name = every[0]["machine"]["gpu"] or "CPU"
    curves: dict[str, list[tuple[int, float]]] = {}
    for whole in every:
        found: dict[str, list[tuple[int, float]]] = {}
        for r in (r for r in whole["rows"] if "ms" in r):
            if r["part"] == "scaling":
                kinds = [r["kind"]] if r["runs"] > 1 else ["stacked", "side by side"]
                for kind in kinds:
                    found.setdefault(f"{r['network']}, {kind}", []).append((r["runs"], 1e3 / r["ms"]))
            elif (
                r.get("precision") == "bf16"
                and r.get("compile")
                and r.get("together") == 1
                and not r.get("momentum_precision")
            ):
                found.setdefault(f"{r['part']} of damico2025, bf16", []).append((r["runs"], 1e3 / r["ms"]))
        curves |= {label: points for label, points in found.items() if len({runs for runs, _ in points}) > 1}
    figure, axes = style.panels(size=(5.6, 4.0))
    axis = axes.flat[0]
    for number, (label, points) in enumerate(sorted(curves.items())):
        best = {runs: max(t for r, t in points if r == runs) for runs, _ in points}
        runs, throughput = np.array(sorted(best.items())).T
        line = "--" if label.endswith("side by side") else "-"
        axis.plot(runs, throughput, marker="o", ls=line, label=label, color=style.PALETTE[number % 8])
    axis.set(xscale="log", yscale="log", xlabel="runs at once", ylabel="steps a second, all runs together")
    axis.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    axis.minorticks_off()
    axis.set_title(f"{machine_name}, CIFAR-10, batch {BATCH}")
    axis.legend(fontsize=7)
    figure.savefig(target)
    print(f"written: {target}")
