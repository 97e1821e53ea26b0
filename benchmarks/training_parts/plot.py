"""Throughput against the number of runs, as a figure."""

from __future__ import annotations

import json
from pathlib import Path

from training_parts.plain import BATCH


def plot(paths: list[Path], target: Path) -> None:
    """Throughput against the number of runs, from the parts cnn, resnet and scaling; later files count."""
    from scalinglab.figures import style

    every = [json.loads(path.read_text()) for path in paths]
    machine_name = every[0]["machine"]["gpu"] or "CPU"
    curves: dict[tuple[str, str], dict[int, float]] = {}  # network and kind -> runs -> steps a second
    for whole in every:
        found: dict[tuple[str, str], dict[int, float]] = {}
        for r in (r for r in whole["rows"] if "ms" in r):
            if r["part"] == "scaling":
                kinds = [r["kind"]] if r["runs"] > 1 else ["stacked", "side by side"]
                for kind in kinds:
                    found.setdefault((r["network"] + ", fp32", kind), {})[r["runs"]] = 1e3 / r["ms"]
            elif (
                r.get("precision") == "bf16"
                and r.get("compile")
                and r.get("together") == 1
                and "momentum" not in r["variant"]  # kept in bf16, which is no option any more
            ):
                label = f"{r['part']} of damico2025, bf16"
                found.setdefault((label, "side by side"), {})[r["runs"]] = 1e3 / r["ms"]
        curves |= {key: points for key, points in found.items() if len(points) > 1}
    figure, axes = style.panels(size=(7.4, 4.0))
    axis = axes.flat[0]
    most = {
        network: max(max(p.values()) for (n, _), p in curves.items() if n == network) for network, _ in curves
    }
    for number, network in enumerate(sorted(most, key=most.__getitem__, reverse=True)):
        color = style.PALETTE[number % 8]
        axis.plot([], [], marker="o", color=color, label=network)
        for kind, line in (("stacked", "-"), ("side by side", "--")):
            points = sorted(curves.get((network, kind), {}).items())
            axis.plot([r for r, _ in points], [t for _, t in points], marker="o", ms=4, ls=line, color=color)
    for kind, line in (("stacked", "-"), ("side by side", "--")):
        axis.plot([], [], color="0.3", ls=line, label=kind)
    axis.set(xscale="log", yscale="log", xlabel="runs at once", ylabel="steps a second, all runs together")
    axis.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    axis.minorticks_off()
    axis.set_title(f"{machine_name}, CIFAR-10, batch {BATCH}")
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.savefig(target)
    print(f"written: {target}")
