"""A `Dataset` of what a user has: tensors, arrays, a pair of PyTorch data sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalinglab.data.dataset import Dataset
from scalinglab.errors import BadInput

SHAPES = (
    "give (x, y, test_x, test_y), a pair (training set, test set) of PyTorch data sets or of (x, y), or a "
    "Dataset"
)


def as_dataset(value: Any, name: str) -> Dataset:
    """A data set as the engine takes it; inputs reach the network as they are.

    Args:
        value: (x, y, test_x, test_y) as tensors or arrays, a dictionary with these keys, a pair (training
            set, test set) of PyTorch data sets of (input, target) or of (x, y), or a `Dataset`.
        name: what it is called in `Curves`.

    Targets that are whole numbers are classes, others are real targets. Numbers are float32 or int64.
    """
    if isinstance(value, Dataset):
        return value
    if isinstance(value, dict):
        keys = ("x", "y", "test_x", "test_y")
        if missing := [key for key in keys if key not in value]:
            raise BadInput(f"{name}: a dictionary of data needs {', '.join(keys)}; {missing[0]} is missing")
        value = tuple(value[key] for key in keys)
    if not isinstance(value, (tuple, list)):
        raise BadInput(f"{name} is a {type(value).__name__}: {SHAPES}")
    if len(value) == 2:
        pair = [part if _is_pair(part) else _of_pairs(part, name) for part in value if not _is_array(part)]
        if len(pair) == 2:
            value = (*pair[0], *pair[1])
    if len(value) != 4:
        raise BadInput(f"{name} has {len(value)} parts: {SHAPES}; without a test set, hold some examples out")
    train_x, train_y, test_x, test_y = (_array(part, name) for part in value)
    for x, y, kind in ((train_x, train_y, "training"), (test_x, test_y, "test")):
        if x.ndim == 0 or len(x) != len(y) or len(x) == 0:
            raise BadInput(f"{name}: {len(x) if x.ndim else 0} {kind} inputs and {len(y)} {kind} targets")
        for part, what in ((x, "inputs"), (y, "targets")):
            wrong = np.flatnonzero(~np.isfinite(part.reshape(len(part), -1)).all(axis=1))
            if len(wrong):
                raise BadInput(
                    f"{name}: {len(wrong)} of {len(part)} {kind} {what} hold NaN or infinity, the first of "
                    f"them example {wrong[0]}: leave these examples out, or fill them in"
                )
    if train_x.shape[1:] != test_x.shape[1:] or train_y.shape[1:] != test_y.shape[1:]:
        raise BadInput(
            f"{name}: training examples have shapes {train_x.shape[1:]} and {train_y.shape[1:]}, test "
            f"examples {test_x.shape[1:]} and {test_y.shape[1:]}: they must agree"
        )
    classes = train_y.dtype == np.int64 and test_y.dtype == np.int64
    n_classes = int(max(train_y.max(), test_y.max())) + 1 if classes else 0
    if not classes:
        train_y, test_y = (y.astype(np.float32) for y in (train_y, test_y))
    none = np.zeros(1, np.float32)
    return Dataset(
        name, train_x, train_y, test_x, test_y, n_classes, none, none + 1, white=1.0, as_given=True
    )


def _is_array(part: Any) -> bool:
    """Whether it is an array, a tensor or a list of numbers."""
    listed = isinstance(part, (tuple, list)) and not _is_pair(part)
    return (
        (listed and not any(isinstance(one, (tuple, list, dict)) for one in part[:1]))
        or isinstance(part, np.ndarray)
        or hasattr(part, "detach")
    )


def _is_pair(part: Any) -> bool:
    """Whether it is (x, y), two arrays or tensors."""
    if not isinstance(part, (tuple, list)) or len(part) != 2:
        return False
    return all(isinstance(each, np.ndarray) or hasattr(each, "detach") for each in part)


def _of_pairs(dataset: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    kind = type(dataset).__name__
    if hasattr(dataset, "collate_fn"):
        raise BadInput(
            f"{name}: a {kind} has batches of its own: give its data set, and batch_size in a setting"
        )
    if not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")) or isinstance(dataset, dict):
        raise BadInput(f"{name}: a {kind} is no data set with a length: {SHAPES}")
    pairs = [dataset[k] for k in range(len(dataset))]
    if odd := [pair for pair in pairs if not isinstance(pair, (tuple, list)) or len(pair) != 2]:
        raise BadInput(f"{name}: an example is a {type(odd[0]).__name__}, and must be (input, target)")
    try:
        x, y = (np.stack([_array(pair[k], name) for pair in pairs]) for k in (0, 1))
    except ValueError as error:
        raise BadInput(f"{name}: examples of one data set must have one shape: {error}") from error
    return x, y


def _array(part: Any, name: str) -> np.ndarray:
    """Whole numbers as int64, others as float32."""
    if hasattr(part, "detach"):
        part = part.detach().cpu()
        part = part.float().numpy() if str(part.dtype) == "torch.bfloat16" else part.numpy()
    found = np.asarray(part)
    if found.dtype.kind in "iub":
        return found.astype(np.int64)
    if found.dtype.kind != "f":
        raise BadInput(f"{name} holds {found.dtype}: give numbers")
    return found.astype(np.float32)
