"""What a pickle holds is read without unpickling: equal to what unpickling gives, and nothing is run."""

import io
import os
import pickle

import numpy as np
import pytest

from scalinglab_papers import pickled_arrays

SHARED = np.arange(6.0).reshape(2, 3)
VALUES = {
    "plain": {"a": 1, "b": [2.5, None, True, False, "text", b"bytes", -1, 2**40], "c": (), "d": (1, 2, 3, 4)},
    "long": {"x" * 300: "y" * 300, "b": b"z" * 300, "c": list(range(2000)), "d": dict.fromkeys(range(1500))},
    "shapes": [SHARED, np.asfortranarray(SHARED), SHARED[:, ::2], np.array(3.0), np.zeros((0, 3))],
    "types": [SHARED.astype(t) for t in ("<f4", ">f8", ">i2", "<u8", "?", "<f2")],
    "scalars": [np.float64(0.1), np.int32(-7), np.bool_(True)],
    "objects": np.array({"P_arr": np.arange(3), "again": [SHARED, SHARED]}, dtype=object),
}  # fmt: skip


def same(one, two):
    if isinstance(one, np.ndarray):
        assert (one.shape, one.dtype) == (two.shape, two.dtype)
        for first, second in zip(one.ravel(), two.ravel(), strict=True):
            same(first, second)
    elif isinstance(one, dict):
        assert list(one) == list(two)
        same(list(one.values()), list(two.values()))
    elif isinstance(one, list | tuple):
        assert (type(one), len(one)) == (type(two), len(two))
        for first, second in zip(one, two, strict=True):
            same(first, second)
    else:
        assert (type(one), one) == (type(two), two)


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_that_unpickling_gives(name, protocol):
    data = pickle.dumps(VALUES[name], protocol)
    same(pickled_arrays.read(io.BytesIO(data)), pickle.loads(data))


class Harmful:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize(
    "value",
    [Harmful(os.system, ("touch harmed",)), Harmful(eval, ("open('harmed', 'w')",)), os.system, {1}, 1j,
     np.array(["a"]), np.array([object()], dtype=object), Harmful(np.dtype, ("V8",))],
)  # fmt: skip
def test_anything_else_is_refused_and_nothing_is_run(value, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"it holds |it has the instruction "):
        pickled_arrays.read(io.BytesIO(pickle.dumps([1, value], protocol)))
    assert not (tmp_path / "harmed").exists()


def test_a_file_that_is_cut_off_is_refused():
    data = pickle.dumps(VALUES["shapes"], 4)
    for end in range(0, len(data), 7):
        with pytest.raises((ValueError, LookupError, AttributeError, TypeError)):
            pickled_arrays.read(io.BytesIO(data[:end]))
