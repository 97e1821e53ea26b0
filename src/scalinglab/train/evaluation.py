"""Training and test loss and error of a group of runs, without blocking the host.

The forward passes over the test set and over a part of the training set are some hundred small launches. On
a GPU with `graphs` they are captured once and replayed; the sums travel to the host beside the training that
follows, and the host takes them when they are there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from scalinglab.measure.evaluation import evaluating, logits_or_all
from scalinglab.measure.network_norms.cuda_graphs import Arriving, Replays
from scalinglab.train import memory
from scalinglab.train.batches import Resident, Stream
from scalinglab.train.setting import Setting
from scalinglab.train.training_step import Named, Program, has_other_than_dense, precision

PIECE = 1 << 10  # examples in one piece of an evaluation on a CPU, all runs together
OWN_NUMBERS = 1 << 24  # activations in one piece, of networks of the user's own on a CPU: 64 MB
SHARE = 1 / 512  # of a GPU's memory: what one piece of an evaluation of dense layers may take


class Evaluation:
    """Losses and errors in transfer to the host."""

    def __init__(self, parts: list[tuple[list[int], str, Arriving]], rows: list[int], classes: bool) -> None:
        self.parts, self.rows, self.classes = parts, rows, classes

    def ready(self) -> bool:
        """Whether the numbers have arrived."""
        return all(sums.ready() for *_, sums in self.parts)

    def result(self) -> list[dict[str, float]]:
        """One dictionary a run; waits for the numbers where they are on their way."""
        found: dict[int, dict[str, float]] = {r: {} for r in self.rows}
        for rows, split, sums in self.parts:
            loss, wrong, count = sums.wait().tolist()
            split, _, average = split.partition("_")
            ending = f"_{average}" if average else ""
            for place, r in enumerate(rows):
                found[r][f"{split}_loss{ending}"] = loss[place] / count[place]
                if self.classes:
                    found[r][f"{split}_error{ending}"] = wrong[place] / count[place]
        return [found[r] for r in self.rows]


class Evaluator:
    """Evaluates the runs of one group.

    Args:
        program: What the runs compute.
        stream: Their training examples.
        runs: How many there are.
        captures: Whether evaluations of all runs are captured.
    """

    def __init__(self, program: Program, stream: Stream, runs: int, captures: bool) -> None:
        self.program, self.stream, self.runs = program, stream, runs
        self.replays = Replays(self.resident.device, captures, share_memory=True)
        # training examples that are looked at: where a captured evaluation reads them
        shape = (runs, min(self.setting.evaluate_at_most, len(self.resident.train_x)))
        self.examples = torch.zeros(shape, dtype=torch.int64, device=self.resident.device)
        self.classes = bool(self.resident.n_classes)  # whether there is an error beside the loss
        # test examples of each run, where every run has its own
        self.tests = self.resident.test_index(stream.subsets)
        for r, subset in enumerate(stream.subsets):
            n = min(len(subset), self.examples.shape[1])
            self.examples[r, :n] = subset[:n]

    @property
    def resident(self) -> Resident:
        """The data."""
        return self.program.resident

    @property
    def setting(self) -> Setting:
        """What the runs share."""
        return self.program.setting

    def begin(
        self, weights: Named, buffers: Named, rows: Sequence[int], averages: Named | None = None
    ) -> Evaluation:
        """Launch the evaluation of some of the runs, on the whole test set; of average weights, too."""
        rows = list(rows)
        sizes = {r: min(self.stream.sizes[r], self.setting.evaluate_at_most) for r in rows}
        parts: list[tuple[list[int], str, Arriving]] = []
        # sums leave at once: graphs share memory, and the next evaluation may overwrite them
        with (
            precision(self.setting, self.resident.device), evaluating(self.program.model), torch.no_grad(),
            self.program.drawing(),
        ):  # fmt: skip
            for n in sorted(set(sizes.values())):  # runs of one size have one shape
                same = [r for r in rows if sizes[r] == n]
                sums = self._sums(weights, buffers, same, "train", self.examples[:, :n], n)
                parts.append((same, "train", Arriving(sums)))
            n = len(self.resident.test_x) // self.resident.parts
            sums = self._sums(weights, buffers, rows, "test", self.tests, n)
            parts.append((rows, "test", Arriving(sums)))
            if averages:
                sums = self._over_pieces(
                    {k: v[rows] for k, v in averages.items()}, {k: v[rows] for k, v in buffers.items()},
                    len(rows), "test", None if self.tests is None else self.tests[rows], n,
                )  # fmt: skip
                parts.append((rows, "test_ema", Arriving(sums)))
            return Evaluation(parts, rows, self.classes)

    def _sums(
        self, weights: Named, buffers: Named, rows: list[int], split: str, index: Tensor | None, n: int
    ) -> Tensor:
        """Sums of losses, errors and examples that count, (3, rows); captured for all runs together."""
        if rows != list(range(self.runs)):
            weights, buffers = ({k: v[rows] for k, v in part.items()} for part in (weights, buffers))
            index = None if index is None else index[rows]
            return self._over_pieces(weights, buffers, len(rows), split, index, n)
        if not self.replays.captures or _on_default_stream(self.resident.device):  # which cannot be captured
            return self._over_pieces(weights, buffers, len(rows), split, index, n)
        sums = partial(self._over_pieces, weights, buffers, len(rows), split, index, n)
        return self.replays(f"{split} {n}", sums)

    def _over_pieces(
        self, weights: Named, buffers: Named, runs: int, split: str, index: Tensor | None, n: int
    ) -> Tensor:
        """Sums over n examples: given ones for each run, or the first n of the split for all."""
        resident = self.resident
        inputs, targets = (getattr(resident, f"{split}_{kind}") for kind in "xy")
        # float64: how examples are cut into pieces must not show in their sum
        loss = torch.zeros(runs, dtype=torch.float64, device=resident.device)
        wrong, count = (torch.zeros(runs, dtype=torch.float64, device=resident.device) for _ in range(2))
        piece = max(1, examples_at_once(self.program, resident) // runs)
        for start in range(0, n, piece):
            part = slice(start, min(start + piece, n))
            chosen = part if index is None else index[:, part]
            stored, y = inputs[chosen], targets[chosen]
            y = y.expand(runs, *y.shape) if index is None else y
            logits = self.program.logits(weights, buffers, resident.inputs(stored), shared=index is None)
            counted = self.program.objective.counted(y)
            many = float(part.stop - part.start) if counted is None else _per_example(counted).sum(-1)
            count += many
            loss += self.program.objective(logits, y, plain=True).double() * many
            if self.classes:
                scores = logits_or_all(logits)
                if isinstance(scores, Tensor) and y.shape == (*scores.shape[:-1], 1):
                    y = y[..., 0]
                if not isinstance(scores, Tensor) or scores.shape[:-1] != y.shape:
                    self.classes = False  # outputs that are no scores of classes
                    continue
                missed = scores.argmax(-1) != y
                missed = missed if counted is None else missed & counted.view_as(y)
                wrong += _per_example(missed).sum(-1)
        return torch.stack([loss, wrong, count])


def _per_example(found: Tensor) -> Tensor:
    """Truth values (runs, examples, …) as the part of each example where they hold."""
    return found.double().flatten(2).mean(-1) if found.ndim > 2 else found.double()


def examples_at_once(program: Program, resident: Resident) -> int:
    """Examples in one piece of an evaluation, of all runs together.

    On a GPU as many as there is memory for. Dense layers take more: a piece is some twenty launches, and
    small networks do little in each.
    """
    model, device = program.model, resident.device
    if device.type != "cuda":
        own = program.setting.owns("model")
        return max(PIECE, int(OWN_NUMBERS / memory.sizes(program.setting)[1])) if own else PIECE
    if has_other_than_dense(model):
        return memory.examples_at_once(program.setting)
    numbers = math.prod(resident.input_shape) + sum(
        m.out_features for m in model.modules() if isinstance(m, nn.Linear)
    )
    limit = SHARE * torch.cuda.get_device_properties(device).total_memory
    return max(memory.MOST_EXAMPLES, int(limit / (8 * numbers)))  # each number and one made of it, in fp32


def _on_default_stream(device: torch.device) -> bool:
    return bool(torch.cuda.current_stream(device) == torch.cuda.default_stream(device))
