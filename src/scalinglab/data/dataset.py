"""Dataset: training and test examples, and views of them.

Pixels stay as they lie on disk (uint8); what a network sees is input = (pixel − offset) / scale, with one
offset and scale per channel, so a whole set fits on a device and is converted there. Every view returns a
new `Dataset`; views that draw at random take a seed, and the same seed gives nested results: the subset of
200 examples is the beginning of the subset of 400, the labels flipped at 10 % are among those flipped at
20 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from scalinglab.errors import BadInput, is_whole, nearest
from scalinglab.results.types import Reason, Remark, Worded

NORMALIZATIONS = {
    "unit": "pixels from 0 to 1",
    "centred": "pixels from −0.5 to 0.5 (park2019, MNIST and Fashion-MNIST)",
    "signed": "pixels from −1 to 1 (damico2025, CNNs on MNIST)",
    "standard": "zero mean and unit variance over all pixels of the training set (park2019, CIFAR-10)",
    "channel": "zero mean and unit variance of each channel over the training set",
    "none": "as they are stored",
}
# one stream of random numbers per purpose, so that a subset does not change when labels become noisy
SUBSET, INPUT_NOISE, LABEL_NOISE = range(3)


@dataclass(frozen=True)
class Layout:
    """How several inputs (or targets) of an example lie in one vector, one after another.

    Attributes:
        names: of the parts of a dictionary; None: of a tuple.
        shapes, kinds: of each part, "float32", "int64" or "bool".
    """

    names: tuple[str, ...] | None
    shapes: tuple[tuple[int, ...], ...]
    kinds: tuple[str, ...]

    def parts(self, vectors: Any) -> Any:
        """The parts of a tensor (…, numbers): a dictionary or a tuple of tensors."""
        lead, convert = vectors.shape[:-1], {"float32": "float", "int64": "long", "bool": "bool"}
        sizes = [math.prod(shape) for shape in self.shapes]
        found = [
            getattr(part.reshape(*lead, *shape), convert[kind])()
            for part, shape, kind in zip(vectors.split(sizes, -1), self.shapes, self.kinds)
        ]
        return tuple(found) if self.names is None else dict(zip(self.names, found))


@dataclass(frozen=True, eq=False)
class Dataset(Worded):
    """A classification or regression task.

    Attributes:
        name: what it is called in `Curves`.
        train_x, test_x: inputs, (examples, channels, height, width) for images or (examples, dimension);
            uint8 as stored, or float32.
        train_y, test_y: class numbers, int64 (examples,), of text one a position, (examples, context); or
            targets, float32 (examples, outputs).
        n_classes: number of classes; 0 for regression.
        offset, scale: per channel, float32; input = (x − offset) / scale.
        white: the largest stored pixel value, 255 for most image sets, 16 for digits.
        classes: the classes' names, where known.
        groupings: named maps from class to superclass, each an (n_classes,) array.
        as_given: whether a network sees inputs as they are, of any shape and type, without offset and scale.
        x_layout, y_layout: how several inputs or targets of an example lie in a vector; None: there is one.
        parts: tasks of one kind that lie one after another in equal parts of the training and of the test set
            (several teachers, say): a run of data seed s sees part s mod parts and nothing else.
    """

    name: str
    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    n_classes: int
    offset: np.ndarray
    scale: np.ndarray
    white: float = 255.0
    classes: tuple[str, ...] = ()
    groupings: Mapping[str, np.ndarray] = field(default_factory=dict)
    parts: int = 1
    as_given: bool = False
    x_layout: Layout | None = None
    y_layout: Layout | None = None

    def __post_init__(self) -> None:
        for split in ("train", "test"):
            x, y = getattr(self, f"{split}_x"), getattr(self, f"{split}_y")
            if len(x) != len(y):
                raise BadInput(f"{self.name}: {len(x)} {split} inputs but {len(y)} {split} targets")
            if len(x) % self.parts:
                raise BadInput(f"{self.name}: {len(x)} {split} inputs do not make {self.parts} equal parts")

    @property
    def n_data(self) -> int:
        """Number of training examples that a run can take: those of one part."""
        return len(self.train_x) // self.parts

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input: (channels, height, width), or (dimension,)."""
        return tuple(self.train_x.shape[1:])

    @property
    def n_outputs(self) -> int:
        """What a network for it must put out: one number a class, or one a target."""
        return self.n_classes or int(np.prod(self.train_y.shape[1:], dtype=int))

    def inputs(self, split: str = "train", rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """What a network sees, float32: (x − offset) / scale."""
        x = self._split(split)[rows]
        if self.as_given:
            return x
        x = x.astype(np.float32)
        shape = (-1,) + (1,) * (x.ndim - 2)
        return (x - self.offset.reshape(shape)) / self.scale.reshape(shape)

    def _split(self, split: str) -> np.ndarray:
        if split not in ("train", "test"):
            raise BadInput(f"split={split!r}; choose from: train, test")
        return self.train_x if split == "train" else self.test_x

    # --- which examples --------------------------------------------------------------------------

    def order(self, seed: int = 0) -> np.ndarray:
        """The order in which subsets grow: a random permutation of the training examples, (n_data,).

        Of a set in several parts, of the examples of part `seed` mod parts.
        """
        order = _random(seed, SUBSET).permutation(self.n_data)
        return order + self.n_data * (seed % self.parts) if self.parts > 1 else order

    def test_rows(self, seed: int = 0) -> slice:
        """The test examples of a run of this data seed: all of them, or those of its part."""
        size = len(self.test_x) // self.parts
        start = size * (seed % self.parts)
        return slice(start, start + size)

    def subset(self, n_data: int, seed: int = 0) -> Dataset:
        """A random subset of the training set; for one seed a larger subset contains the smaller."""
        if not is_whole(n_data) or not 1 <= n_data <= self.n_data:
            raise BadInput(f"a subset of n_data={n_data} of {self.name}: there are 1 to {self.n_data}")
        keep = self.order(seed)[: int(n_data)]
        test = self.test_rows(seed)
        return replace(
            self, train_x=self.train_x[keep], train_y=self.train_y[keep],
            test_x=self.test_x[test], test_y=self.test_y[test], parts=1,
        )  # fmt: skip

    # --- the inputs ------------------------------------------------------------------------------

    def normalize(self, how: str = "channel") -> Dataset:
        """Choose offset and scale; statistics come from the training set as it stands.

        Args:
            how: one of `NORMALIZATIONS`.
        """
        if how not in NORMALIZATIONS:
            raise BadInput(f"normalize={how!r} is not known; {nearest(how, NORMALIZATIONS)}")
        channels = self.train_x.shape[1]
        if how in ("unit", "centred", "signed", "none"):
            scale = {"none": 1.0, "signed": self.white / 2}.get(how, self.white)
            offset = self.white / 2 if how in ("centred", "signed") else 0.0
            return self._scaled(np.full(channels, offset), np.full(channels, scale))
        mean, square = self.moments()
        if how == "standard":
            mean, square = np.full(channels, mean.mean()), np.full(channels, square.mean())
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        return self._scaled(mean, np.where(spread > 0, spread, 1.0))

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and mean square of each channel (for vectors: over all components alike)."""
        x = self.train_x
        if x.ndim == 2:
            both = np.array([[np.mean(x, dtype=float)], [np.mean(np.square(x, dtype=float))]])
            return np.repeat(both[0], x.shape[1]), np.repeat(both[1], x.shape[1])
        if x.dtype == np.uint8:  # exact, and many times faster than converting every pixel
            counts = np.stack([np.bincount(x[:, c].ravel(), minlength=256) for c in range(x.shape[1])])
            values, total = np.arange(256.0), counts.sum(1)
            return counts @ values / total, counts @ values**2 / total
        return x.mean((0, 2, 3), dtype=float), np.mean(np.square(x, dtype=float), (0, 2, 3))

    def _scaled(self, offset: np.ndarray, scale: np.ndarray) -> Dataset:
        return replace(self, offset=offset.astype(np.float32), scale=scale.astype(np.float32))

    def pool(self, size: int) -> Dataset:
        """Average-pool images by `size` in both directions (bahri2021); a rest at the edge is dropped.

        Offset and scale stay: pool first and normalize afterwards for unit variance of the pooled pixels.
        """
        if self.train_x.ndim != 4:
            raise BadInput(f"pool={size}: {self.name} has no images, only vectors")
        height, width = self.input_shape[1:]
        if not is_whole(size) or not 1 <= size <= min(height, width):
            raise BadInput(f"pool={size} of images of {height} × {width}: choose 1 to {min(height, width)}")
        return replace(self, train_x=_pool(self.train_x, size), test_x=_pool(self.test_x, size))

    def flat(self) -> Dataset:
        """Images as vectors, (examples, channels · height · width)."""
        if self.train_x.ndim == 2:
            return self
        per_channel = int(np.prod(self.input_shape[1:]))
        offset, scale = (np.repeat(v, per_channel) for v in (self.offset, self.scale))
        train, test = (x.reshape(len(x), -1) for x in (self.train_x, self.test_x))
        return replace(self, train_x=train, test_x=test, offset=offset, scale=scale)

    def noise(self, strength: float, seed: int = 0) -> Dataset:
        """Add fixed Gaussian noise to every input, training and test.

        Args:
            strength: standard deviation in units of the normalised input.
        """
        if not strength >= 0:
            raise BadInput(f"input noise of strength {strength}: it is a standard deviation, 0 or more")
        if strength == 0:
            return self
        if self.as_given and (self.train_x.dtype != np.float32 or self.x_layout):
            raise BadInput(f"input noise of {self.name}: inputs are whole numbers, as of tokens, or several")
        random = _random(seed, INPUT_NOISE)
        noisy = []
        for split in ("train", "test"):
            x = self.inputs(split)
            x += np.float32(strength) * random.standard_normal(x.shape, dtype=np.float32)
            noisy.append(x)
        channels = self.train_x.shape[1]
        seen = replace(self, train_x=noisy[0], test_x=noisy[1], white=1.0)
        return seen._scaled(np.zeros(channels), np.ones(channels))

    # --- the targets -----------------------------------------------------------------------------

    def superclass(self, grouping: str | Sequence[int] | np.ndarray | Mapping[str, Sequence[str]]) -> Dataset:
        """Merge classes.

        Args:
            grouping: a name in `groupings` ("coarse": the 20 of CIFAR-100), the superclass of each class
                (0, 1, …), or the superclasses by name with the names of their classes.
        """
        self._classification("superclass")
        names: tuple[str, ...] = ()
        if isinstance(grouping, str):
            if grouping not in self.groupings:
                known = nearest(grouping, self.groupings) if self.groupings else "it has no named groupings"
                raise BadInput(f"{self.name} has no grouping {grouping!r}; {known}")
            group = self.groupings[grouping]
        elif isinstance(grouping, Mapping):
            names, group = tuple(grouping), self._grouping(grouping)
        else:
            group = np.asarray(grouping)
        labels = np.unique(group) if group.shape == (self.n_classes,) else None
        if labels is None or not np.array_equal(labels, np.arange(len(labels))):
            raise BadInput(
                f"a grouping of {self.name} gives each of its {self.n_classes} classes a number "
                f"0, 1, … without gaps; this one has shape {group.shape} and values {np.unique(group)[:5]}…"
            )
        group = group.astype(np.int64)
        return replace(
            self,
            train_y=group[self.train_y],
            test_y=group[self.test_y],
            n_classes=len(labels),
            classes=names,
            groupings={},
        )

    def _grouping(self, groups: Mapping[str, Sequence[str]]) -> np.ndarray:
        if not self.classes:
            raise BadInput(f"the classes of {self.name} have no names: give the superclass of each by number")
        number = {name: k for k, name in enumerate(self.classes)}
        result = np.full(self.n_classes, -1)
        for group, members in enumerate(groups.values()):
            for member in members:
                if member not in number:
                    raise BadInput(f"{self.name} has no class {member!r}; {nearest(member, number)}")
                if result[number[member]] >= 0:
                    raise BadInput(f"the grouping of {self.name} has class {member!r} twice: put it in one")
                result[number[member]] = group
        if np.any(result < 0):
            missing = self.classes[int(np.argmin(result))]
            raise BadInput(
                f"the grouping of {self.name} leaves out class {missing!r}: put every class in one"
            )
        return result

    def label_noise(self, fraction: float, seed: int = 0) -> Dataset:
        """Replace this fraction of the training labels by another class, drawn uniformly."""
        self._classification("label_noise")
        if self.n_classes < 2:
            raise BadInput(f"label_noise: {self.name} has one class, there is no other to flip labels to")
        if not 0 <= fraction <= 1:
            raise BadInput(f"label_noise={fraction}: a fraction of the labels, from 0 to 1")
        if fraction == 0:
            return self
        random = _random(seed, LABEL_NOISE)
        flipped = random.permutation(self.n_data) < round(fraction * self.n_data)
        shift = random.integers(1, self.n_classes, self.n_data)
        noisy = np.where(flipped, (self.train_y + shift) % self.n_classes, self.train_y)
        return replace(self, train_y=noisy)

    def _classification(self, view: str) -> None:
        if not self.n_classes:
            raise BadInput(f"{view}: {self.name} has real-valued targets, no classes")

    @property
    def remarks(self) -> Iterator[Remark]:
        classes = {"outputs": self.n_classes, "kind": "classes"}
        yield Reason(
            "dataset", name=self.name, n_data=self.n_data, n_test=len(self.test_x),
            shape="×".join(map(str, self.input_shape)),
            **(classes if self.n_classes else {"outputs": self.n_outputs, "kind": "real targets"}),
        )  # fmt: skip


def _random(seed: int, purpose: int) -> np.random.Generator:
    if not is_whole(seed) or seed < 0:
        raise BadInput(f"seed={seed}: a whole number, 0 or more")
    return np.random.default_rng([int(seed), purpose])


def _pool(x: np.ndarray, size: int) -> np.ndarray:
    if size == 1:
        return x
    n, channels, height, width = x.shape
    rows, columns = height // size, width // size
    x = x[:, :, : rows * size, : columns * size]
    blocks = x.reshape(n, channels, rows, size, columns, size)
    return blocks.mean((3, 5), dtype=np.float32)
