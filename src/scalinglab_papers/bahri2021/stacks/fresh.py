"""Students in one stack, whatever their widths and teachers, on examples that are drawn at every step.

Students with two hidden layers are padded to the widest with units whose weights are zero. Their gradients
are zero, too, so that Adam leaves them where they are and every student is trained as if it were alone.
Inputs of fewer dimensions are padded with zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from scalinglab.data.teacher import SCALE, TEST, Teacher

Rows = list[dict[str, float]]
Stage = tuple[int, int, float]  # steps, fresh examples in each, Adam's rate


PREPARED = 3  # steps before a graph is captured


@dataclass(frozen=True)
class Student:
    """A student: the place of its teacher, hidden units in each layer, seed of its initial weights."""

    teacher: int
    hidden: int
    seed: int


class Students:
    """Stacked students, (students, …), padded to the widest; initial weights uniform in ± 1/√fan-in.

    Args:
        dimensions: of the inputs of each student.
    """

    def __init__(
        self, students: Sequence[Student], dimensions: Sequence[int], device: torch.device
    ) -> None:  # fmt: skip
        n, width = max(dimensions), max(one.hidden for one in students)
        shapes = ((n, width), (1, width), (width, width), (1, width), (width, 1), (1, 1))
        drawn = [torch.zeros(len(students), *shape) for shape in shapes]
        for place, (one, dimension) in enumerate(zip(students, dimensions, strict=True)):
            random = torch.Generator().manual_seed(one.seed)
            layers = ((dimension, one.hidden), (one.hidden, one.hidden), (one.hidden, 1))
            for layer, (fan_in, out) in enumerate(layers):
                for value, rows in zip(drawn[2 * layer : 2 * layer + 2], (fan_in, 1)):
                    uniform = torch.rand((rows, out), generator=random) * 2 - 1
                    value[place, :rows, :out] = uniform / fan_in**0.5
        self.parameters = [value.to(device).requires_grad_() for value in drawn]

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (students, examples) on inputs (students, examples, dimension)."""
        first, first_bias, second, second_bias, last, last_bias = self.parameters
        h = torch.baddbmm(first_bias, x, first).relu()
        h = torch.baddbmm(second_bias, h, second).relu()
        return torch.baddbmm(last_bias, h, last)[..., 0]


class Teachers:
    """Stacked teachers of the same widths, (teachers, …), padded to the largest dimension."""

    def __init__(self, teachers: Sequence[Teacher], device: torch.device) -> None:
        self.dimensions = torch.tensor([one.dimension for one in teachers], device=device)
        self.largest = max(one.dimension for one in teachers)
        self.layers = [
            [torch.from_numpy(np.stack(values)).float().to(device) for values in zip(*layer)]
            for layer in zip(*(self._padded(one) for one in teachers))
        ]

    def _padded(self, one: Teacher) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights (in, out) and biases (1, out) of each layer; the last has the scale of the outputs."""
        weights, biases = [w.T for w in one.weights], [b[None] for b in one.biases]
        weights[0] = np.pad(weights[0], ((0, self.largest - one.dimension), (0, 0)))
        weights[-1], biases[-1] = weights[-1] / one.spread, (biases[-1] - one.shift) / one.spread
        return list(zip(weights, biases))

    def padded(self, x: Tensor) -> Tensor:
        """Inputs (teachers, examples, largest dimension) with zeros in what a teacher does not have."""
        return x * (torch.arange(self.largest, device=x.device) < self.dimensions[:, None, None])

    def __call__(self, x: Tensor) -> Tensor:
        """Targets (teachers, examples)."""
        for layer, (weight, bias) in enumerate(self.layers):
            x = torch.baddbmm(bias, x.relu() if layer else x, weight)
        return x[..., 0]


def without_biases(teacher: Teacher) -> Teacher:
    """The same teacher with biases of zero, its outputs again of zero mean and unit variance."""
    biases = tuple(np.zeros_like(bias) for bias in teacher.biases)
    raw = replace(teacher, biases=biases, shift=np.zeros(1), spread=np.ones(1))
    outputs = raw(teacher.inputs(16_384, SCALE))
    return replace(raw, shift=outputs.mean(0), spread=outputs.std(0))


def trained_losses(
    teachers: Sequence[Teacher], students: Sequence[Student], stages: Sequence[Stage], n_test: int
) -> list[Rows]:
    """For each student its test loss at the end of every stage; all students of a teacher see the same."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cuda, targets = device.type == "cuda", Teachers(teachers, device)
    teacher_of = torch.tensor([one.teacher for one in students], device=device)
    stack = Students(students, [teachers[one.teacher].dimension for one in students], device)
    rate = torch.tensor(0.0, device=device)
    adam = torch.optim.Adam(stack.parameters, lr=rate, fused=cuda, capturable=cuda)

    def losses(x: Tensor) -> Tensor:
        return (stack(x[teacher_of]) - targets(x)[teacher_of]).square()

    def step(batch: int) -> None:
        x = targets.padded(torch.rand((len(teachers), batch, targets.largest), device=device) - 0.5)
        adam.zero_grad(set_to_none=True)
        torch.autograd.backward(losses(x).mean(1).sum())
        adam.step()

    unseen = [torch.from_numpy(one.inputs(n_test, TEST)) for one in teachers]
    unseen_x = torch.stack([F.pad(x, (0, targets.largest - x.shape[1])) for x in unseen]).to(device)
    rows: list[Rows] = [[] for _ in students]
    done = 0
    with torch.random.fork_rng([torch.cuda.current_device()] if cuda else []):
        torch.manual_seed(0)
        for steps, batch, own_rate in stages:
            rate.fill_(own_rate)
            _repeat(partial(step, batch), steps, cuda)
            done += steps
            with torch.no_grad():
                found = losses(unseen_x).double().mean(1)
            for kept, loss in zip(rows, found.tolist()):
                kept.append({"step": done, "test_loss": loss})
    return rows


def _repeat(step: Callable[[], None], times: int, cuda: bool) -> None:
    """Take a step many times; on a GPU as a graph, which the first few prepare."""
    if not cuda or times <= PREPARED:
        for _ in range(times):
            step()
        return
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(PREPARED):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(times - PREPARED):
        graph.replay()
    torch.cuda.synchronize()
