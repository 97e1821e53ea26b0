"""The engine's variants against the plain loop on a GPU, many runs at once, kernels, and equal curves."""

from __future__ import annotations

from training_parts.plain import dataset_name, plain_loop
from training_parts.results import Results, clear, engine_time, is_wanted

FAST = {"precision": "bf16", "compile": True, "graphs": True}
GPU_VARIANTS = {  # name -> (runs, max_stacked, setting)
    "cnn": {
        "bf16, graphs, compile, 1 run": (1, 1, FAST),
        "bf16, graphs, compile, 4 runs": (4, 1, FAST),
        "bf16, graphs, compile, 8 runs": (8, 1, FAST),
        "bf16, graphs, compile, 16 runs": (16, 1, FAST),
        "fp32, graphs, 1 run": (1, 1, {"graphs": True}),
        "fp32, graphs, 4 runs": (4, 1, {"graphs": True}),
        "fp32, graphs, compile, 4 runs": (4, 1, {"graphs": True, "compile": True}),
        "tf32, graphs, 4 runs": (4, 1, {"graphs": True, "precision": "tf32"}),
        "bf16, graphs, 4 runs": (4, 1, {"graphs": True, "precision": "bf16"}),
        "bf16, graphs, 4 runs stacked": (4, 4, {"graphs": True, "precision": "bf16"}),
    },
    "resnet": {
        "bf16, graphs, compile, 1 run": (1, 1, FAST),
        "bf16, graphs, compile, 4 runs": (4, 1, FAST),
        "bf16, graphs, compile, 8 runs": (8, 1, FAST),
        "fp32, graphs, 1 run": (1, 1, {"graphs": True}),
        "tf32, graphs, 4 runs": (4, 1, {"graphs": True, "precision": "tf32"}),
        "bf16, graphs, 4 runs": (4, 1, {"graphs": True, "precision": "bf16"}),
    },
    "vit": {
        "bf16, graphs, compile, 1 run": (1, 1, FAST),
        "bf16, graphs, compile, 4 runs": (4, 1, FAST),
        "bf16, graphs, compile, 8 runs": (8, 1, FAST),
        "fp32, graphs, compile, 4 runs": (4, 1, {"graphs": True, "compile": True}),
        "tf32, graphs, 4 runs": (4, 1, {"graphs": True, "precision": "tf32"}),
        "bf16, graphs, 4 runs": (4, 1, {"graphs": True, "precision": "bf16"}),
    },
}


def gpu_part(part: str, results: Results) -> None:
    name, n_data = dataset_name("cifar10"), 48_000
    base = results.add(part, "plain loop", lambda: plain_loop(part, name, n_data, "cuda"), runs=1)
    for variant, (runs, max_stacked, setting) in GPU_VARIANTS[part].items():
        if not is_wanted(variant):
            continue
        results.add(
            part,
            variant,
            lambda runs=runs, max_stacked=max_stacked, setting=setting: engine_time(
                "cuda",
                runs,
                384,
                max_stacked,
                model=part,
                dataset=name,
                n_data=n_data,
                seconds=3.0,
                **setting,
            ),
            base,
            runs=runs,
            max_stacked=max_stacked,
            **setting,
        )
        clear()


def scaling_part(part: str, results: Results) -> None:
    """How throughput grows with the number of runs, side by side and stacked, by the size of a step."""
    from scalinglab.train import engine
    from scalinglab.train.setting import Setting

    name = dataset_name("cifar10")
    small = {"graphs": True, "dataset": name, "n_data": 8000}
    networks = (("mlp", 1.0), ("lenet", 2.0), ("cnn", 0.125), ("mlp", 8.0), ("cnn", 0.25), ("cnn", 0.5))
    for model, width in networks:
        setting = {"model": model, "width": width, **small}
        mflop = engine.step_flops(Setting.from_dict({**setting, "steps": 1})) / 1e6
        for runs, stacked in ((1, 1), (4, 1), (4, 4), (16, 1), (16, 16), (64, 64)):
            kind = "stacked" if stacked > 1 else "side by side"
            results.add(
                part,
                f"{model} width {width:g} ({mflop:.0f} MFLOP), {runs} runs {kind}",
                lambda runs=runs, stacked=stacked, setting=setting: engine_time(
                    "cuda", runs, 192, stacked, seconds=1.0, **setting
                ),
                runs=runs,
                kind=kind,
                network=f"{model} width {width:g}",
                mflop=mflop,
            )
            clear()


WIDE = ((28, 10.0, 1), (10, 4.0, 1), (10, 4.0, 4), (10, 1.0, 1), (10, 1.0, 8), (28, 1.0, 1))  # d, k, runs


def wide_part(part: str, results: Results) -> None:
    """Wide ResNets d-k as bahri2021 trains them: Nesterov momentum, flips and crops, bf16, not compiled."""
    setting = {
        "model": "wide_resnet", "dataset": dataset_name("cifar10"), "n_data": 48_000, "batch_size": 128,
        "optimizer": "nesterov", "learning_rate": 0.1, "weight_decay": 5e-4, "schedule": "cosine",
        "augment": "crop_flip", "precision": "bf16", "graphs": True,
    }  # fmt: skip
    for depth, width, runs in WIDE:
        variant = f"WRN-{depth}-{width:g}, {runs} run{'s' * (runs > 1)}"
        if is_wanted(variant):
            own = {**setting, "depth": depth, "width": width}
            results.add(
                part, variant, lambda own=own, runs=runs: engine_time("cuda", runs, 192, seconds=2.0, **own),
                runs=runs,
            )  # fmt: skip
            clear()


def kernels_part(part: str, results: Results) -> None:
    """Where a step of one run spends its time: its kernels, from the longest, one after another."""
    import collections

    import torch
    from torch.profiler import ProfilerActivity, profile

    from scalinglab.train import jobs
    from scalinglab.train.setting import Setting

    steps = 64
    for model, dataset in (("cnn", "cifar10"), ("resnet", "cifar10"), ("cnn", "cifar100")):
        variant = f"{model}, {dataset}: kernels of a step, one after another"
        if not is_wanted(variant):
            continue

        def longest(model=model, dataset=dataset) -> dict:
            own = {"model": model, "dataset": dataset_name(dataset), "n_data": 48_000}
            setting = {**own, "steps": 10**6, "measure": [], **FAST}
            group = jobs.build([Setting.from_dict(setting)], torch.device("cuda"))
            group.advance(32)
            torch.cuda.synchronize()
            with profile(activities=[ProfilerActivity.CUDA]) as found:
                group.advance(steps)
                torch.cuda.synchronize()
            time_of, count_of = collections.Counter(), collections.Counter()
            for event in found.events():
                if event.device_type == torch.autograd.DeviceType.CUDA:
                    time_of[event.name] += event.device_time_total / steps
                    count_of[event.name] += 1 / steps
            for kernel, microseconds in time_of.most_common(30):
                print(f"      {microseconds:8.1f} µs {count_of[kernel]:6.2f} × {kernel[:100]}")
            return {"ms": sum(time_of.values()) / 1e3, "kernels": sum(count_of.values())}

        results.add(part, variant, longest)
        clear()


def precision_part(part: str, results: Results) -> None:
    """The same settings over 12 seeds: do the opt-ins give the same curves within seed noise?"""
    from scalinglab.train import run_many

    name, device = dataset_name("cifar10"), "cuda"
    variants = {
        "fp32": {},
        "fp32 graphs": {"graphs": True},
        "tf32 graphs": {"graphs": True, "precision": "tf32"},
        "bf16 graphs": {"graphs": True, "precision": "bf16"},
        "fp32 graphs compile": {"graphs": True, "compile": True},
        "bf16 graphs compile": FAST,
    }
    size = {"width": 1.0, "test_size": 5000}
    reference: dict = {}
    for variant, setting in variants.items():
        if reference and not is_wanted(variant):
            continue
        settings = [
            {
                "model": "cnn", "dataset": name, "n_data": 2000, "epochs": 10, "seed": seed,
                "checkpoints_per_decade": 3, **size, **setting,
            }
            for seed in range(12)
        ]  # fmt: skip

        def compare(settings=settings, variant=variant) -> dict:
            frame = run_many(settings, device=device, max_stacked=1, progress=False).frame
            found = {"seeds": len(settings)}
            for column in ("train_loss", "test_loss", "test_error", "norm"):
                last = frame.sort_values("step").groupby("seed")[column].last().to_numpy()
                best = frame.groupby("seed")[column].min().to_numpy() if column != "norm" else last
                for kind, values in (("final", last), ("best", best)):
                    key = f"{kind} {column}"
                    found[key] = [float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)]
                    reference.setdefault(key, values)
                    spread = (values.var(ddof=1) + reference[key].var(ddof=1)) / len(values)
                    gap = values.mean() - reference[key].mean()
                    found[key].append(float(gap / spread**0.5) if spread else 0.0)
                    # paired by seed: initial weights and order are the same
                    pairs = values - reference[key]
                    error = pairs.std(ddof=1) / len(pairs) ** 0.5
                    found[key].append(float(pairs.mean() / error) if error else 0.0)
            return found

        row = results.add(part, variant, compare, **setting)
        for key, value in row.items():
            if isinstance(value, list):
                mean, error, apart, paired = value
                print(f"      {key:18s} {mean:.5g} ± {error:.2g}   z = {apart:+.2f}, paired {paired:+.2f}")
        clear()
