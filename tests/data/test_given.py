"""A `Dataset` of what a user has."""

from __future__ import annotations

import numpy as np
import pytest

from scalinglab.data.given import as_dataset
from scalinglab.errors import BadInput

X, Y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 2, 0, 1, 2], np.int32)


def test_arrays_reach_the_network_as_they_are() -> None:
    found = as_dataset((X, Y, X[:2], Y[:2]), "mine")
    assert found.n_classes == 3
    assert found.train_x.dtype == np.float32
    np.testing.assert_array_equal(found.inputs("train"), X)
    tokens = as_dataset((Y[:, None], X, Y[:2, None], X[:2]), "mine")
    assert tokens.inputs("test").dtype == np.int64
    assert (tokens.n_classes, tokens.n_outputs) == (0, 2)
    flat = as_dataset({"x": X, "y": X[:, 0], "test_x": X, "test_y": X[:, 0]}, "mine")
    assert flat.n_outputs == 1


def test_data_sets_of_pytorch_are_read_example_by_example() -> None:
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    found = as_dataset((data, torch.utils.data.Subset(data, [1, 3])), "mine")
    np.testing.assert_array_equal(found.train_x, X)
    np.testing.assert_array_equal(found.test_y, Y[[1, 3]])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ((X, Y), "has 2 parts"),
        ((X, Y, X, Y[:3]), "6 test inputs and 3"),
        ((X, Y, X[:, :1], Y), "must agree"),
        ((X, Y, np.where(X == 5, np.nan, X), Y), "1 of 6 test inputs hold NaN.*example 2"),
        ((X, np.where(X == 1, np.inf, X), X, X), "1 of 6 training targets hold NaN.*example 0"),
        ((X, np.array(["a"] * 6), X, Y), "give numbers"),
        (X, "is a ndarray"),
        ({"x": X, "y": Y}, "test_x is missing"),
        ((X[:0], Y[:0], X, Y), "0 training inputs"),
    ],
)
def test_what_is_wrong_is_said(value, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        as_dataset(value, "mine")
