"""Students of one teacher in one stack, whatever their widths, on examples that are drawn at every step.

Students with two hidden layers are padded to the widest with units whose weights are zero. Their gradients
are zero, too, so that Adam leaves them where they are and every student is trained as if it were alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from scalinglab.data.teacher import SCALE, TEST, Teacher

Rows = list[dict[str, float]]


PREPARED = 3  # steps before a graph is captured


class Students:
    """Stacked students, (students, …), padded to the widest.

    Args:
        dimension: of the inputs.
        hidden: units in each layer, one number a student.
        seeds: of the initial weights, one a student; uniform in ± 1/√fan-in.
    """

    def __init__(
        self, dimension: int, hidden: Sequence[int], seeds: Sequence[int], device: torch.device
    ) -> None:
        widest = max(hidden)
        shapes = ((dimension, widest), (1, widest), (widest, widest), (1, widest), (widest, 1), (1, 1))
        self.parameters = [torch.zeros(len(hidden), *shape) for shape in shapes]
        for student, (width, seed) in enumerate(zip(hidden, seeds, strict=True)):
            random = torch.Generator().manual_seed(seed)
            for place, (fan_in, out) in enumerate(((dimension, width), (width, width), (width, 1))):
                for value, rows in zip(self.parameters[2 * place : 2 * place + 2], (fan_in, 1)):
                    drawn = torch.rand((rows, out), generator=random) * 2 - 1
                    value[student, :rows, :out] = drawn / fan_in**0.5
        self.parameters = [value.to(device).requires_grad_() for value in self.parameters]

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (students, examples) on shared inputs (examples, dimension)."""
        first, first_bias, second, second_bias, last, last_bias = self.parameters
        h = torch.baddbmm(first_bias, x.expand(len(first), *x.shape), first).relu()
        h = torch.baddbmm(second_bias, h, second).relu()
        return torch.baddbmm(last_bias, h, last)[..., 0]


def labels(teacher: Teacher, device: torch.device) -> Callable[[Tensor], Tensor]:
    """The teacher as a function of inputs (examples, dimension) on the device, (examples,)."""
    layers = [
        [torch.as_tensor(value, dtype=torch.float32).to(device) for value in (weight.T, bias)]
        for weight, bias in zip(teacher.weights, teacher.biases)
    ]
    shift, spread = float(teacher.shift[0]), float(teacher.spread[0])

    def targets(x: Tensor) -> Tensor:
        h = x
        for place, (weight, bias) in enumerate(layers):
            h = torch.addmm(bias, h.relu() if place else h, weight)
        return (h[:, 0] - shift) / spread

    return targets


def without_biases(teacher: Teacher) -> Teacher:
    """The same teacher with biases of zero, its outputs again of zero mean and unit variance."""
    biases = tuple(np.zeros_like(bias) for bias in teacher.biases)
    raw = replace(teacher, biases=biases, shift=np.zeros(1), spread=np.ones(1))
    outputs = raw(teacher.inputs(16_384, SCALE))
    return replace(raw, shift=outputs.mean(0), spread=outputs.std(0))


def trained_losses(
    teacher: Teacher,
    hidden: Sequence[int],
    seeds: Sequence[int],
    stages: Sequence[tuple[int, int, float]],
    n_test: int,
) -> list[Rows]:
    """For each student its test loss at the end of every stage (steps, examples in each, Adam's rate)."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    students, targets = Students(teacher.dimension, hidden, seeds, device), labels(teacher, device)
    unseen = torch.from_numpy(teacher.inputs(n_test, TEST)).to(device)
    rate = torch.tensor(0.0, device=device)
    cuda = device.type == "cuda"
    adam = torch.optim.Adam(students.parameters, lr=rate, fused=cuda, capturable=cuda)

    def step(batch: int) -> None:
        x = torch.rand((batch, teacher.dimension), device=device) - 0.5
        adam.zero_grad(set_to_none=True)
        torch.autograd.backward((students(x) - targets(x)).square().mean(1).sum())
        adam.step()

    rows: list[Rows] = [[] for _ in hidden]
    done = 0
    with torch.random.fork_rng([torch.cuda.current_device()] if cuda else []):
        torch.manual_seed(teacher.seed)
        for steps, batch, own_rate in stages:
            rate.fill_(own_rate)
            _repeat(partial(step, batch), steps, cuda)
            done += steps
            with torch.no_grad():
                gap = (students(unseen) - targets(unseen)).double().square().mean(1)
            for own, loss in zip(rows, gap.tolist()):
                own.append({"step": done, "test_loss": loss})
    return rows


def _repeat(step: Callable[[], None], times: int, cuda: bool) -> None:
    """Take a step many times; on a GPU as a graph, which the first few prepare."""
    if not cuda or times <= PREPARED:
        for _ in range(times):
            step()
        return
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(PREPARED):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(times - PREPARED):
        graph.replay()
    torch.cuda.synchronize()
