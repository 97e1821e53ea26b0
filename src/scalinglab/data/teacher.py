"""Teacher–student data: a random network on the d-cube labels uniformly drawn inputs.

bahri2021, section 3.1 and supplement A.1: x uniform on the cube [−1/2, 1/2]^d, y = f(x) with f a randomly
initialised ReLU network (two hidden layers of 96 units); the scaling exponent of a student's loss follows
4/d. Samples are unlimited: example k is the same whatever the number asked for, so training sets of
growing size contain each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scalinglab.data.dataset import Dataset
from scalinglab.errors import BadInput
from scalinglab.support.validation import checked

BLOCK = 4096  # examples are drawn in blocks of this many, each with its own stream
WEIGHTS, TRAIN, TEST, SCALE = range(4)


@dataclass(frozen=True, eq=False)
class Teacher:
    """A random network f from the d-cube to `outputs` numbers of zero mean and unit variance.

    Attributes:
        weights, biases: of each layer, (out, in) and (out,).
        shift, spread: of the raw outputs over the cube, estimated on 16,384 inputs.
    """

    dimension: int
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    shift: np.ndarray
    spread: np.ndarray
    seed: int

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Targets (examples, outputs) of inputs (examples, dimension), float64."""
        return (_forward(x, self.weights, self.biases) - self.shift) / self.spread

    def inputs(self, n: int, stream: int = TRAIN, start: int = 0) -> np.ndarray:
        """Inputs number `start` to `start + n` of a stream, uniform on [−1/2, 1/2]^d, float32."""
        return _inputs(self.dimension, self.seed, n, stream, start)

    def sample(self, n: int, start: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Fresh examples number `start` to `start + n`: inputs and targets, float32."""
        x = self.inputs(n, TRAIN, start)
        return x, self(x).astype(np.float32)


@checked
def random_teacher(
    dimension: int, *, width: int = 96, depth: int = 2, outputs: int = 1, seed: int = 0
) -> Teacher:
    """A teacher with `depth` hidden ReLU layers: weights N(0, 2/fan_in), biases uniform as the inputs.

    Without biases f would be homogeneous, f(cx) = c f(x), and not a function of all of the cube.
    """
    for name, value in {"dimension": dimension, "width": width, "depth": depth, "outputs": outputs}.items():
        if value < 1:
            raise BadInput(f"{name}={value} of a teacher must be at least 1")
    random = np.random.default_rng([seed, WEIGHTS])
    sizes = [dimension, *[width] * depth, outputs]
    weights, biases = [], []
    for fan_in, fan_out in pairwise(sizes):
        weights.append(random.normal(0, np.sqrt(2 / fan_in), (fan_out, fan_in)))
        biases.append(random.uniform(-0.5, 0.5, fan_out))
    raw = _forward(_inputs(dimension, seed, 4 * BLOCK, SCALE, 0), weights, biases)
    return Teacher(dimension, tuple(weights), tuple(biases), raw.mean(0), raw.std(0), seed)


@checked
def teacher_student(
    dimension: int = 4,
    n_data: int = 10_000,
    n_test: int = 10_000,
    *,
    width: int = 96,
    depth: int = 2,
    outputs: int = 1,
    classes: bool = False,
    teachers: int = 1,
    seed: int = 0,
) -> Dataset:
    """A teacher's data as a `Dataset`.

    Args:
        outputs: numbers the teacher puts out: regression targets, or scores of classes.
        classes: the target is the class with the largest score instead of the scores.
        teachers: how many teachers the set holds, one in each of its parts (`Dataset.parts`), so that runs of
            different teachers can be trained together; each has `n_data` and `n_test` examples.
        seed: of teacher and inputs (of the first one, if there are several); for one seed, a larger training
            set contains the smaller.

    >>> teacher_student(dimension=2, n_data=100, n_test=50).summary()
    'teacher-2d: 100 training and 50 test inputs of 2, 1 real targets'
    """
    if min(n_data, n_test) < 1:
        raise BadInput(f"n_data={n_data} and n_test={n_test} must be at least 1")
    if classes and outputs < 2:
        raise BadInput(f"classes=True needs outputs of 2 or more, one score a class; outputs={outputs}")
    if teachers < 1:
        raise BadInput(f"teachers={teachers} must be at least 1")
    every = [
        random_teacher(dimension, width=width, depth=depth, outputs=outputs, seed=seed + k)
        for k in range(teachers)
    ]
    (train_x, train_y), (test_x, test_y) = (
        map(np.concatenate, zip(*(_labelled(teacher, n, stream, classes) for teacher in every)))
        for n, stream in ((n_data, TRAIN), (n_test, TEST))
    )
    unit = np.ones(dimension, np.float32)
    return Dataset(
        name=f"teacher-{dimension}d",
        train_x=train_x,
        train_y=train_y,
        test_x=test_x,
        test_y=test_y,
        n_classes=outputs if classes else 0,
        offset=0 * unit,
        scale=unit,
        white=1.0,
        parts=teachers,
    )


def _labelled(teacher: Teacher, n: int, stream: int, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    x = teacher.inputs(n, stream)
    y = teacher(x)
    return x, y.argmax(1) if classes else y.astype(np.float32)


def _inputs(dimension: int, seed: int, n: int, stream: int, start: int) -> np.ndarray:
    first, last = start // BLOCK, -(-(start + n) // BLOCK)
    blocks = [
        np.random.default_rng([seed, stream, block]).random((BLOCK, dimension), dtype=np.float32)
        for block in range(first, last)
    ]
    return np.concatenate(blocks)[start - first * BLOCK :][:n] - np.float32(0.5)


def _forward(
    x: np.ndarray, weights: tuple[np.ndarray, ...] | list[np.ndarray], biases: tuple | list
) -> np.ndarray:
    hidden = np.asarray(x, float)
    for layer, (weight, bias) in enumerate(zip(weights, biases)):
        hidden = (np.maximum(hidden, 0) if layer else hidden) @ weight.T + bias
    return hidden
