"""Data on the device and the batches drawn from it: indices only, no copies from the host.

The whole set lies on the device once, as stored (uint8), images with their channels last. A batch is a
row of indices: step s of a run takes examples s·B … (s+1)·B − 1 of its endless stream, random permutation
after random permutation of its subset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

from scalinglab import data as datasets
from scalinglab.data import Dataset
from scalinglab.errors import BadInput
from scalinglab.train import random_numbers as rn
from scalinglab.train.setting import GENERATED, Setting

AHEAD = 1 << 16  # examples whose indices are made at once, about, for each run
DRAWN = 1 << 22  # numbers that are put in order at once
PADDING = 4  # pixels, of random crops
# of random affine maps, as damico2025 has them: degrees, and the share of a side
TURN, SHIFT = 10.0, 0.1
TEST_TRANSFORM_SEED = 0  # test images are transformed once, alike for every run


def dataset_of(setting: Setting) -> Dataset:
    """The data of a run before its subset is taken: loaded, pooled, normalised, noisy."""
    options = tuple(sorted(setting.data_options.items()))
    given = setting.superclass  # a list cannot be a key of what is loaded
    superclass = given if given is None or isinstance(given, str) else tuple(given)
    # a noisy set is one set, from which every seed draws its subset
    noise_seed = setting.data_seed or 0 if setting.input_noise or setting.label_noise else 0
    if setting.owns("dataset"):
        views = (setting.input_noise, setting.label_noise, noise_seed, setting.test_size)
        return _own(setting.own_data(), *views)
    return _dataset(
        setting.dataset, options, setting.normalize, setting.pool, superclass,
        setting.input_noise, setting.label_noise, noise_seed, setting.test_size,
        setting.augment if setting.augment_test else "none",
    )  # fmt: skip


def _viewed(
    loaded: Dataset, input_noise: float, label_noise: float, seed: int, test_size: int | None
) -> Dataset:
    """Data with noise on inputs and labels, and fewer test examples."""
    loaded = loaded.noise(input_noise, seed)
    loaded = loaded.label_noise(label_noise, seed) if label_noise else loaded
    if test_size is None:
        return loaded
    available = len(loaded.test_x) // loaded.parts
    if test_size > available:
        raise BadInput(f"test_size={test_size}: {loaded.name} has {available} test examples")
    few = (available * np.arange(loaded.parts)[:, None] + np.arange(test_size)).ravel()
    return replace(loaded, test_x=loaded.test_x[few], test_y=loaded.test_y[few])


_own = lru_cache(maxsize=8)(_viewed)  # the same object for the same data


@lru_cache(maxsize=8)
def _dataset(
    name: str, options: tuple, normalize: str, pool: int, superclass: str | tuple[int, ...] | None,
    input_noise: float, label_noise: float, seed: int, test_size: int | None, test_transform: str,
) -> Dataset:  # fmt: skip
    if name in GENERATED:
        loaded = _generated(name, dict(options))
    else:
        loaded = datasets.load(name, normalize="none")
        loaded = (loaded.pool(pool) if pool > 1 else loaded).normalize(normalize)
    if superclass is not None:
        loaded = loaded.superclass(superclass)
    loaded = _viewed(loaded, input_noise, label_noise, seed, test_size)
    return loaded if test_transform == "none" else _with_transformed_test(loaded, test_transform)


def _with_transformed_test(dataset: Dataset, how: str) -> Dataset:
    """The same data with every test image randomly flipped, shifted or rotated, once."""
    stored = torch.from_numpy(np.array(dataset.test_x)).movedim(1, -1)
    moved = transform_images(stored, how, rn.keys([TEST_TRANSFORM_SEED], rn.AUGMENT)[0])
    return replace(dataset, test_x=moved.movedim(-1, 1).contiguous().numpy())


def _generated(name: str, options: dict) -> Dataset:
    try:
        return getattr(datasets, name)(**options)  # type: ignore[no-any-return]
    except TypeError as error:
        raise BadInput(f"data_options={options} of {name}: {error}") from error


class Resident:
    """A data set on a device, shared by all runs that train on it.

    Attributes:
        train_x, test_x: (examples, height, width, channels) for images or (examples, dimension).
        train_y, test_y: class numbers or targets.
        parts: equal parts of the test set, of which a run sees one.
        dataset: as it lies in the host's memory.
    """

    def __init__(self, dataset: Dataset, device: torch.device) -> None:
        self.device = device
        self.n_classes = dataset.n_classes
        self.parts = dataset.parts
        self.n_outputs = dataset.n_outputs
        self.input_shape = dataset.input_shape
        self.dataset, self.as_given = dataset, dataset.as_given
        self.is_image = len(self.input_shape) == 3 and not self.as_given
        self.train_x, self.test_x = (self._place(x) for x in (dataset.train_x, dataset.test_x))
        self.train_y, self.test_y = (
            torch.from_numpy(np.array(y)).to(device) for y in (dataset.train_y, dataset.test_y)
        )
        # channels are the last axis here, so offset and scale need no reshaping
        self.offset = torch.from_numpy(dataset.offset).to(device)
        self.scale = torch.from_numpy(dataset.scale).to(device)

    @cached_property
    def flat(self) -> tuple[Tensor, Tensor, Tensor]:
        """Training inputs as stored, in a dense layer's order, (examples, features); offsets and scales."""
        x, shape = self.train_x, self.train_x.shape[1:]
        parts = [x, *(t.to(torch.float32).expand(shape) for t in (self.offset, self.scale))]
        if self.is_image:
            parts = [t.movedim(-1, -3) for t in parts]
        x, offset, scale = (t.flatten(at).contiguous() for t, at in zip(parts, (1, 0, 0)))
        return x, offset, scale

    @cached_property
    def halves(self) -> Tensor:
        """Training inputs of `flat` that are bytes as numbers in bf16, which hold them exactly."""
        return self.flat[0].to(torch.bfloat16)

    def _place(self, x: np.ndarray) -> Tensor:
        stored = x.transpose(0, 2, 3, 1) if self.is_image else x
        return torch.from_numpy(np.array(stored, order="C")).to(self.device)  # a copy: files are read-only

    def inputs(self, stored: Tensor) -> Tensor:
        """Normalised inputs of stored examples, (…, channels, height, width) float32, channels last."""
        if self.as_given:
            return stored
        x = (stored.to(torch.float32) - self.offset) / self.scale
        return x.movedim(-1, -3) if self.is_image else x

    def test_index(self, subsets: Sequence[Tensor]) -> Tensor | None:
        """Test examples of runs with these training examples, (runs, examples); None: all see the same."""
        if self.parts == 1:
            return None
        part = torch.stack([subset[0] for subset in subsets]) // (len(self.train_x) // self.parts)
        size = len(self.test_x) // self.parts
        return part[:, None] * size + torch.arange(size, device=self.device)

    def batch(self, index: Tensor, augment: str = "none", key: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Examples as stored, and targets, of indices (runs, batch), augmented at random where asked for."""
        stored = self.train_x[index]
        if augment != "none" and key is not None:
            stored = transform_images(stored, augment, key)
        return stored, self.train_y[index]


def transform_images(stored: Tensor, how: str, key: Tensor) -> Tensor:
    """Flip, shift or turn images (…, n, height, width, channels) at random; the key has the shape before n.

    Every pixel takes the value of one pixel of the image (the nearest, of a turned one), or 0 outside of it.
    """
    *lead, height, width, _ = stored.shape
    draws = rn.mix(key[..., None], torch.arange(lead[-1], device=stored.device))[..., None, None]
    rows = torch.arange(height, device=stored.device)[:, None].expand(*lead, height, width)
    columns = torch.arange(width, device=stored.device).expand(*lead, height, width)
    # flip and shifts take different bits of one draw, so that they are independent
    if "flip" in how:
        columns = torch.where((draws & 1).bool(), width - 1 - columns, columns)
    if "crop" in how:
        span = 2 * PADDING + 1
        rows = rows + ((draws >> 8) & 0xFFFF) % span - PADDING
        columns = columns + ((draws >> 24) & 0xFFFF) % span - PADDING
    if how == "affine":
        rows, columns = _affine(rows, columns, draws)
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    # pixels outside get any valid place here, and 0 below
    flat = (rows.clamp(0, height - 1) * width + columns.clamp(0, width - 1)).flatten(-2)[..., None]
    moved = stored.flatten(-3, -2).gather(-2, flat.expand(*flat.shape[:-1], stored.shape[-1]))
    return torch.where(inside.flatten(-2)[..., None], moved, torch.zeros_like(moved)).view_as(stored)


def _affine(rows: Tensor, columns: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
    """Where the pixels of an image come from that was turned about its centre, then shifted by whole pixels.

    Three numbers in [−1, 1) of sixteen bits each: the angle and the two shifts, all uniform.
    """
    height, width = rows.shape[-2:]
    turn, down, right = ((((draws >> s) & 0xFFFF).to(torch.float32) / 32768 - 1) for s in (0, 16, 32))
    centre_y, centre_x = (height - 1) / 2, (width - 1) / 2
    angle = torch.deg2rad(TURN * turn)
    y = rows - centre_y - torch.round(SHIFT * height * down)
    x = columns - centre_x - torch.round(SHIFT * width * right)
    back_y = angle.cos() * y - angle.sin() * x
    back_x = angle.sin() * y + angle.cos() * x
    return torch.round(back_y + centre_y).long(), torch.round(back_x + centre_x).long()


class Stream:
    """The examples that a group of runs train on, step after step; runs may differ in batch size.

    Example number p of a run's stream lies in `orders` at p modulo its window, a whole number of epochs, read
    in a circle. Epochs are drawn as steps come to need them: a run with small batches keeps its epoch while
    others go through many.

    Args:
        subsets: for each run, the training examples it may use, in any order.
        seeds: for each run, the seed of its order.
        batches: for each run, examples a step; at most as many as its subset has.
        longest: steps of the longest run.

    Attributes:
        orders: example numbers, (runs, largest window) int32.
        windows, batches: of each run, (runs,).
        most: the largest batch.
        full: whether every step takes all examples: then they stay in their order.
    """

    def __init__(
        self, subsets: list[np.ndarray], seeds: list[int], batches: list[int], device: torch.device,
        longest: int,
    ) -> None:  # fmt: skip
        self.sizes = [len(subset) for subset in subsets]
        self.full = self.sizes == batches
        self.key = rn.keys(seeds, rn.ORDER, device)
        self._table = torch.zeros((len(subsets), max(self.sizes)), dtype=torch.int64, device=device)
        for own, subset in zip(self._table, subsets):
            own[: len(subset)] = torch.from_numpy(np.ascontiguousarray(subset)).to(device)
        self._low = np.zeros(len(subsets), dtype=np.int64)  # epochs that are there: from low to below high
        self._high = self._low.copy()
        # one epoch more than is read ahead: a step may end in the epoch after the one it begins in
        ahead = [(1 + -(-AHEAD // n), -(-longest * b // n)) for b, n in zip(batches, self.sizes)]
        self._epochs = np.array([1 if self.full else min(epochs) for epochs in ahead])
        windows = (self._epochs * self.sizes).tolist()
        self.windows = torch.tensor(windows, device=device)
        self.orders = torch.zeros((len(subsets), max(windows)), dtype=torch.int32, device=device)
        if self.full:
            self.orders.copy_(self._table)
        self._hold(np.array(batches))

    def _hold(self, batches: np.ndarray) -> None:
        """Examples a step of the runs that are held."""
        device = self.orders.device
        self._batches, self.most = batches, int(batches.max())
        self.batches = torch.tensor(batches, dtype=torch.int32, device=device)
        self._number = torch.arange(self.most, device=device)

    def fill(self, step: int, end: int) -> int:
        """Draw what the steps from `step` need; returns the step before which it ends, at most `end`."""
        if self.full:
            return end
        sizes = np.array(self.sizes)
        first = step * self._batches // sizes
        stop = min(end, int(((first + self._epochs) * sizes // self._batches).min()))
        needed = -(-stop * self._batches // sizes)
        elsewhere = (first < self._low) | (first > self._high)  # a run that was restored
        self._low[elsewhere] = self._high[elsewhere] = first[elsewhere]
        short = np.flatnonzero(self._high < needed)
        for size in sorted({self.sizes[r] for r in short}):
            rows = [int(r) for r in short if self.sizes[r] == size]
            self._draw([(r, e) for r in rows for e in range(self._high[r], first[r] + self._epochs[r])], size)
        self._high[short] = first[short] + self._epochs[short]
        self._low = np.maximum(self._low, self._high - self._epochs)
        return stop

    def _draw(self, pairs: list[tuple[int, int]], size: int) -> None:
        """Draw the order of some epochs, (run, epoch), of runs of one size."""
        counts, device = torch.from_numpy(self._epochs), self.orders.device
        number = torch.arange(size, device=device)
        at_once = max(1, DRAWN // size)
        for start in range(0, len(pairs), at_once):
            some = torch.tensor(pairs[start : start + at_once])
            some = torch.cat([some, some[:, 1:] % counts[some[:, :1]] * size], 1)
            if device.type == "cuda":  # the host does not wait for the copy
                some = some.pin_memory().to(device, non_blocking=True)
            row, epoch, place = some.unbind(1)
            # of 64 random bits two are as good as never equal: no device decides about ties
            order = rn.mix(rn.mix(self.key[row], epoch)[:, None], number).argsort(dim=-1)
            drawn = self._table[row[:, None], order].to(torch.int32)
            self.orders[row[:, None], place[:, None] + number] = drawn

    @property
    def subsets(self) -> list[Tensor]:
        """The training examples of each run."""
        return [own[:n] for own, n in zip(self._table, self.sizes)]

    def index(self, counter: Tensor, count: int = 1) -> Tensor:
        """Example numbers of some steps from `counter` on, (count, runs, most), int32.

        Those beyond a run's batch belong to its later steps.
        """
        first = counter if count == 1 else counter + torch.arange(count, device=counter.device)
        place = (first.view(-1, 1, 1) * self.batches[:, None] + self._number) % self.windows[:, None]
        return self.orders.expand(count, -1, -1).gather(2, place)

    @property
    def live(self) -> Tensor | None:
        """Which of the examples of `index` belong to the batch, (runs, most); None where all do."""
        return None if len({*self._batches}) == 1 else self._number < self.batches[:, None]

    def keep(self, rows: list[int]) -> None:
        """Go on with some of the runs."""
        self.key, self.orders, self.windows = self.key[rows], self.orders[rows], self.windows[rows]
        self._table, self.sizes = self._table[rows], [self.sizes[r] for r in rows]
        self._epochs, self._low, self._high = self._epochs[rows], self._low[rows], self._high[rows]
        self._hold(self._batches[rows])
