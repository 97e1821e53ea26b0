"""Text as bytes: windows, targets, held-out files, errors."""

import sysconfig
from pathlib import Path

import numpy as np
import pytest

from scalinglab import data
from scalinglab.data import language
from scalinglab.errors import BadInput


def test_targets_are_the_bytes_after_each_byte():
    d = data.text(n_data=20, n_test=5, context=8)
    np.testing.assert_array_equal(d.train_x[:, 1:], d.train_y[:, :-1])
    assert d.train_x.dtype == np.uint8
    assert d.n_outputs == 256
    assert d.input_shape == (8,)


def test_every_window_is_a_piece_of_a_training_file_and_windows_do_not_overlap(tmp_path):
    for k in range(20):  # a file of one byte value each: a byte tells its file
        (tmp_path / f"{k:02d}.txt").write_bytes(bytes([k]) * 40)
    d = data.text(n_data=100, n_test=8, context=7, path=str(tmp_path))
    assert set(np.unique(d.train_x)) <= set(range(20)) - {9, 19}
    assert set(np.unique(d.test_x)) <= {9, 19}
    used = np.bincount(d.train_x.ravel(), minlength=20)
    assert used.max() <= 40


def test_a_single_file_is_held_out_by_stretches(tmp_path):
    path = tmp_path / "one.txt"
    path.write_bytes(b"a" * (9 * language.STRETCH) + b"b" * language.STRETCH)
    d = data.text(n_data=10, n_test=10, context=16, path=str(path))
    assert set(d.test_x.ravel()) == {ord("b")}
    assert set(d.train_x.ravel()) == {ord("a")}


def test_the_default_files_are_modules_of_the_standard_library_in_the_order_of_their_names():
    files = language.files_of()
    base = Path(sysconfig.get_path("stdlib"))
    names = [file.relative_to(base).as_posix() for file in files]
    assert names == sorted(names)
    assert "argparse.py" in names
    assert not any("site-packages" in name or "/test/" in name for name in names)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_data": 0}, "n_data=0"),
        ({"context": 0}, "context=0"),
        ({"n_data": 10**9}, "take fewer"),
        ({"path": "/nowhere"}, "holds no text"),
    ],
)
def test_bad_texts_are_refused(options, words):
    with pytest.raises(BadInput, match=words):
        data.text(**options)


def test_a_short_file_is_refused(tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("few words")
    with pytest.raises(BadInput, match="too few"):
        data.text(path=str(path))
