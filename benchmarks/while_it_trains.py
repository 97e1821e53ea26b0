"""The final loss of a run from its first part: published runs, and what an estimate costs.

    SCALINGLAB_DATA=… python benchmarks/while_it_trains.py [--choices] [--runs] [--trained 4] [--cost 20]

- Luo et al. 2025 (MIT): nine schedules at 25 M and 100 M parameters;
- McLeish et al. 2025, Gemstones (MIT): 22 networks of 48 M to 2 B parameters at a constant rate.

Kept apart are the runs of 100 M and those of 475 M parameters and more: the numbers were chosen on the
smaller ones, each from the others (``--choices``). A first look at them did decide two things: that earlier
runs count in nats, not relative to their final loss, and that those of one network count for less. Each is
cut at 10, 30, 50 and 80 % and predicted with the smaller runs of its study as earlier runs. Printed are the
mean relative error of the final loss, the share inside the 95 % band, and the share of runs that raise the
alarm; and of the same runs, whose loss stops falling from a third of the run on, the share that raise it.
``--runs`` prints every run. ``--trained`` trains stacks of small networks here and predicts the wider ones
from the narrower ones of their study, another material than any number was chosen on. ``--cost`` trains
a network on a GPU, or two small ones where there is none, with the estimate and without, for so many seconds,
and prints the share of the training's time that is spent in the tracker, and how many estimates were made.
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np
import pandas as pd

from scalinglab.laws import schedule
from scalinglab.laws.in_progress import Run, Study
from scalinglab_papers.field.running import LATER, Case, gemstones, luo, scored

COSTS = ("cuda", 2048), ("cpu", 64), ("cpu", 512)  # widths of networks
WARM_UP, EARLIER = 300, 400.0  # steps; seconds of training before those that are measured


def trained(studies: int, steps: int = 3000, batch: int = 128) -> list[Case]:
    """Runs of networks that learn a random teacher's probabilities, under three schedules and two lengths.

    A study is a teacher and a highest rate; its networks of 24 and 48 units are the earlier runs, those of
    96 the ones to predict. All studies of a width, length and schedule are trained as one stack.
    """
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    inputs, classes, hidden = 24, 12, 48
    scale = torch.arange(1, inputs + 1) ** -0.6
    first = torch.randn(studies, inputs, hidden) / scale.square().sum().sqrt()
    second = 3.0 * torch.randn(studies, hidden, classes) / hidden**0.5
    rates = torch.logspace(-2.7, -2.0, studies)

    def teacher(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.tanh(2 * x @ first) @ second, dim=-1)

    held_out = scale * torch.randn(studies, 2048, inputs)
    truth = teacher(held_out)
    found: dict[tuple[int, int], list[Run]] = {}
    for width, length in itertools.product((24, 48, 96), (steps, steps // 2)):
        warm = length // 50
        plans = (
            schedule.cosine(1.0, length, warm, 0.1), schedule.wsd(1.0, length, 0.8 * length, warm, 0.05),
            schedule.constant(1.0, length, warm),
        )  # fmt: skip
        for plan in plans:
            weights = [torch.randn(studies, inputs, width), torch.randn(studies, width, classes) / width]
            for w in weights:
                w.requires_grad_()
            moments = [[torch.zeros_like(w), torch.zeros_like(w)] for w in weights]
            at, losses = np.unique(np.geomspace(length / 50, length, 80).astype(int)), []
            for step in range(1, length + 1):
                x = scale * torch.randn(studies, batch, inputs)
                aim = torch.multinomial(teacher(x).flatten(0, 1), 1).flatten()
                out = torch.relu(x @ weights[0]) @ weights[1]
                loss = torch.nn.functional.cross_entropy(out.flatten(0, 1), aim) * studies
                with torch.no_grad():
                    for w, gradient, (mean, square) in zip(
                        weights, torch.autograd.grad(loss, weights), moments, strict=True
                    ):
                        mean.lerp_(gradient, 0.1)
                        square.lerp_(gradient**2, 0.01)
                        rate = float(plan(float(step))) * rates[:, None, None]
                        w -= rate * mean / (1 - 0.9**step) / ((square / (1 - 0.99**step)).sqrt() + 1e-8)
                    if step in at:
                        logits = torch.log_softmax(torch.relu(held_out @ weights[0]) @ weights[1], dim=-1)
                        losses.append(-(truth * logits).sum(-1).mean(-1).numpy())
            for study, curve in enumerate(np.array(losses).T):
                found.setdefault((study, width), []).append((plan, at.astype(float), curve.astype(float)))
    return [
        Case(f"study {study}, run {k}", *run, earlier)
        for study in range(studies)
        for earlier in [Study.of({str(w): found[study, w][:3] for w in (24, 48)})]
        for k, run in enumerate(found[study, 96])
    ]


def told(table: pd.DataFrame, what: str) -> None:
    """Print by part, and from 30 % on."""
    table = table.assign(error=table["error"].abs(), answered=1)
    mean = table.groupby("part")[["error", "held", "width", "alarm", "planted", "seconds"]].mean()
    print(f"{what}\n{mean.assign(runs=table.groupby('part').size()).to_string(float_format='%.4f')}")
    later = table[table["part"] >= LATER]
    share, n = later["held"].mean(), len(later)
    error = np.sqrt((share * n + 1) * ((1 - share) * n + 1) / (n + 2) ** 2 / (n + 3))
    print(f"from 30 % on: error {later['error'].mean():.2%}, held {share:.1%} ± {error:.1%} of {n}\n")


def cost(device: str, width: int, seconds: float, batch: int = 256) -> None:
    """The share of a run's time that is spent in the tracker, with the estimate and without; torch alone.

    A run of seconds has no estimate, since all of them together may take `SHARE` of the time: those that are
    measured are the end of a run that began `EARLIER` seconds ago, with losses from then on. What calls cost
    beside the estimates is measured; of the estimates the seconds each, and their share of the whole run.
    """
    import torch

    import scalinglab as sl
    from scalinglab.train.outlook import SHARE

    torch.set_num_threads(1)
    x, y = torch.randn(4096, 64, device=device), torch.randn(4096, 1, device=device)
    first, steps = 0, WARM_UP
    for run in ("warm-up", "without the estimate", "with the estimate"):
        model = torch.nn.Sequential(
            torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(),
            torch.nn.Linear(width, 1),
        ).to(device)  # fmt: skip
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        plan = schedule.cosine(0.01, first + steps) if run == "with the estimate" else None
        tracker = sl.Tracker(model, n_data=len(x), norms=False, schedule=plan)
        if tracker.outlook is not None:
            tracker.outlook._begun -= EARLIER
            for step in range(1, first, max(first // 4000, 1)):
                tracker.outlook.add(step, 1 + step**-0.5)
        inside, answers, begun = 0.0, set(), time.perf_counter()
        for step in range(first + 1, first + steps + 1):
            rows = torch.randint(len(x), (batch,), device=device)
            loss = ((model(x[rows]) - y[rows]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if device == "cuda":  # what a step has left to do is not the tracker's
                torch.cuda.synchronize()
            entered = time.perf_counter()
            tracker(step, loss=loss)
            inside += time.perf_counter() - entered
            if tracker.outlook is not None and tracker.outlook.latest is not None:
                answers.add(tracker.outlook.latest)
        training = time.perf_counter() - begun - inside
        spent = tracker.outlook.spent if tracker.outlook is not None else 0.0
        if run != "warm-up":
            calls, whole = (inside - spent) / training, EARLIER + training
            print(f"{device}, width {width}, {steps} steps of {1e3 * training / steps:.2f} ms, {run}: calls "
                  f"{calls:.2%}, {len(answers)} estimates of {spent / max(len(answers), 1):.2f} s, "
                  f"{spent / whole:.2%} (at most {SHARE:.2%}) of a run of {whole:.0f} s; in all "
                  f"{calls + spent / whole:.2%}", flush=True)  # fmt: skip
        each = training / steps
        first, steps = int(EARLIER / each), max(WARM_UP, int(seconds / 2 / each))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--cost", type=float, metavar="SECONDS")
    parser.add_argument("--runs", action="store_true", help="print every run")
    parser.add_argument("--trained", type=int, metavar="STUDIES", help="of networks that are trained here")
    asked = parser.parse_args()
    if asked.trained:
        table = scored(trained(asked.trained))
        if asked.runs:
            print(table.to_string(float_format="%.4f"))
        told(table, "networks trained here")
        return
    if asked.cost:
        import torch

        for device, width in COSTS:
            if (device == "cuda") == torch.cuda.is_available():
                cost(device, width, asked.cost)
        return
    one, two = (
        ("25 M from each other", "Gemstones, small") if asked.choices else ("100 M", "Gemstones, large")
    )
    tables = [scored(luo(25 if asked.choices else 100)), scored(gemstones(not asked.choices))]
    if asked.runs:
        print(pd.concat(tables).to_string(float_format="%.4f"))
    for name, table in zip((one, two), tables, strict=True):
        told(table, name)
    told(pd.concat(tables), "both")


if __name__ == "__main__":
    main()
