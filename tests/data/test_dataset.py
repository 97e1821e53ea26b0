"""Views of data sets: what they keep, what they change, and that they nest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalinglab import data
from scalinglab.data.dataset import Dataset
from scalinglab.errors import BadInput
from tests.properties import examples


def toy(n: int = 60, classes: int = 5, shape: tuple[int, ...] = (2, 6, 7)) -> Dataset:
    random = np.random.default_rng(3)
    x = random.integers(0, 256, (n, *shape), dtype=np.uint8)
    y = np.arange(n) % classes
    zero, one = np.zeros(shape[0], np.float32), np.ones(shape[0], np.float32)
    return Dataset("toy", x, y, x[:10] // 2, y[:10], classes, zero, one, classes=tuple("abcde")[:classes])


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return data.load("digits")


def test_digits_keep_every_image_of_the_bundle_once(digits: Dataset) -> None:
    from sklearn.datasets import load_digits

    whole = np.concatenate([digits.train_x, digits.test_x]).reshape(1797, -1)
    assert np.array_equal(np.sort(whole.sum(1)), np.sort(load_digits().data.sum(1).astype(int)))
    assert np.bincount(digits.test_y, minlength=10).min() > 20


@given(sizes=st.tuples(st.integers(1, 60), st.integers(1, 60)), seed=st.integers(0, 99))
@examples(25)
def test_for_one_seed_the_larger_subset_contains_the_smaller(sizes: tuple[int, int], seed: int) -> None:
    small, large = (toy().subset(n, seed) for n in sorted(sizes))
    assert np.array_equal(large.train_x[: small.n_data], small.train_x)
    assert np.array_equal(large.train_y[: small.n_data], small.train_y)


def test_subsets_of_different_seeds_differ(digits: Dataset) -> None:
    assert not np.array_equal(digits.subset(50, 0).train_x, digits.subset(50, 1).train_x)


@pytest.mark.parametrize("how", ["channel", "standard"])
def test_statistics_of_normalised_inputs_are_zero_and_one(how: str) -> None:
    x = toy().normalize(how).inputs()
    axes = (0, 2, 3) if how == "channel" else None
    assert np.allclose(x.mean(axes), 0, atol=1e-5)
    assert np.allclose(x.std(axes), 1, atol=1e-5)


def test_the_papers_ranges_are_met_at_black_and_white() -> None:
    pixels = np.array([0, 255], np.uint8).reshape(2, 1, 1, 1)
    one = Dataset("bw", pixels, np.arange(2), pixels, np.arange(2), 2, np.zeros(1), np.ones(1))
    assert one.normalize("centred").inputs().ravel().tolist() == [-0.5, 0.5]
    assert one.normalize("signed").inputs().ravel().tolist() == [-1.0, 1.0]
    assert one.normalize("unit").inputs().ravel().tolist() == [0.0, 1.0]


def test_moments_of_bytes_equal_those_of_floats() -> None:
    stored = toy()
    floats = Dataset(
        "f", stored.train_x.astype(np.float32), stored.train_y, stored.test_x, stored.test_y, 5,
        stored.offset, stored.scale,
    )  # fmt: skip
    for a, b in zip(stored.moments(), floats.moments(), strict=True):
        assert np.allclose(a, b, rtol=1e-6)


def test_pooling_averages_blocks_and_drops_the_rest() -> None:
    pooled = toy().pool(3).train_x
    assert pooled.shape == (60, 2, 2, 2)
    assert pooled[4, 1, 1, 0] == pytest.approx(toy().train_x[4, 1, 3:6, 0:3].mean())


def test_flat_inputs_are_the_images_inputs_in_order() -> None:
    image = toy().normalize()
    assert np.allclose(image.flat().inputs(), image.inputs().reshape(60, -1))


def test_input_noise_has_the_strength_asked_for_and_is_reproducible(digits: Dataset) -> None:
    noisy = digits.noise(0.5, seed=2)
    difference = noisy.inputs() - digits.inputs()
    assert difference.std() == pytest.approx(0.5, rel=0.02)
    assert np.array_equal(noisy.inputs("test"), digits.noise(0.5, seed=2).inputs("test"))


def test_label_noise_flips_the_fraction_asked_for_and_nests(digits: Dataset) -> None:
    some, more = digits.label_noise(0.1), digits.label_noise(0.3)
    flipped = [d.train_y != digits.train_y for d in (some, more)]
    assert flipped[0].sum() == round(0.1 * digits.n_data)
    assert flipped[1].sum() == round(0.3 * digits.n_data)
    assert np.all(flipped[1][flipped[0]])
    assert np.array_equal(some.train_y[flipped[0]], more.train_y[flipped[0]])
    assert np.array_equal(some.test_y, digits.test_y)


def test_superclasses_by_number_and_by_name_agree() -> None:
    by_number = toy().superclass([0, 1, 0, 1, 1])
    by_name = toy().superclass({"first": ["a", "c"], "second": ["b", "d", "e"]})
    assert np.array_equal(by_number.train_y, by_name.train_y)
    assert by_name.classes == ("first", "second")
    assert by_number.n_classes == 2


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda d: d.subset(0), "1 to 60"),
        (lambda d: d.subset(10.5), "1 to 60"),
        (lambda d: d.subset(10, seed=-1), "0 or more"),
        (lambda d: d.noise(float("nan")), "standard deviation"),
        (lambda d: data.load("CIFAR-10"), "'cifar10'"),
        (lambda d: d.normalize("chanel"), "'channel'"),
        (lambda d: d.pool(9), "choose 1 to 6"),
        (lambda d: d.noise(-1), "standard deviation"),
        (lambda d: d.label_noise(1.5), "0 to 1"),
        (lambda d: d.superclass([0, 2, 0, 2, 2]), "without gaps"),
        (lambda d: d.superclass({"x": ["a"]}), "leaves out class 'b'"),
        (lambda d: d.superclass({"x": ["a", "b", "c"], "y": ["c", "d", "e"]}), "class 'c' twice"),
        (lambda d: d.superclass([0] * 5).superclass({"x": ["a"]}), "have no names"),
        (lambda d: d.superclass([0] * 5).label_noise(0.1), "one class"),
        (lambda d: d.superclass("coarse"), "no named groupings"),
        (lambda d: data.load("minst"), "'mnist'"),
        (lambda d: data.load("mnist", labels="coarse"), "for cifar100"),
    ],
)
def test_bad_input_is_told_the_rule(call, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        call(toy())


def test_teacher_data_nest_and_have_unit_variance() -> None:
    large = data.teacher_student(dimension=3, n_data=9000, n_test=9000, seed=5)
    small = data.teacher_student(dimension=3, n_data=5000, n_test=10, seed=5)
    assert np.array_equal(large.train_x[:5000], small.train_x)
    assert np.array_equal(large.train_y[:5000], small.train_y)
    assert large.test_y.std() == pytest.approx(1, abs=0.05)
    assert abs(large.test_y.mean()) < 0.05
    assert large.train_x.min() >= -0.5
    assert large.train_x.max() <= 0.5


def test_fresh_samples_continue_where_the_last_ended() -> None:
    teacher = data.random_teacher(2, seed=1)
    x, y = teacher.sample(6000)
    behind = data.teacher_student(dimension=2, n_data=100, n_test=10, seed=1)
    assert np.array_equal(behind.train_x, x[:100])
    assert np.array_equal(behind.train_y, y[:100])
    for start in (4000, 4500):  # in the first and in the second block that are drawn at once
        later = teacher.sample(1500, start=start)
        assert np.array_equal(later[0], x[start : start + 1500])
        assert np.array_equal(later[1], y[start : start + 1500])


def test_the_teacher_is_the_network_it_says() -> None:
    import torch

    teacher = data.random_teacher(3, width=7, depth=2, outputs=4, seed=2)
    layers: list[torch.nn.Module] = []
    for weight, bias in zip(teacher.weights, teacher.biases, strict=True):
        layer = torch.nn.Linear(*weight.shape[::-1], dtype=torch.float64)
        layer.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
        layers += [layer, torch.nn.ReLU()]
    x = teacher.inputs(20)
    raw = torch.nn.Sequential(*layers[:-1])(torch.tensor(x, dtype=torch.float64)).detach().numpy()
    assert np.allclose(teacher(x), (raw - teacher.shift) / teacher.spread)


def test_teacher_classes_are_the_largest_scores() -> None:
    scores = data.teacher_student(dimension=4, n_data=200, outputs=5, seed=1)
    classes = data.teacher_student(dimension=4, n_data=200, outputs=5, classes=True, seed=1)
    assert np.array_equal(scores.train_y.argmax(1), classes.train_y)
    assert classes.n_outputs == scores.n_outputs == 5


def test_facts_of_the_bundled_set_are_those_of_its_images():
    digits, facts = data.load("digits"), data.SOURCES["digits"]
    assert digits.train_x.shape == (facts.n_train, *facts.shape)
    assert len(digits.test_x) == facts.n_test
    assert len(digits.classes) == facts.n_classes


def test_svhn_is_read_from_its_matlab_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib
    from dataclasses import replace

    from scipy.io import savemat

    from scalinglab.data import loading
    from scalinglab.data.sources import SOURCES

    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (32, 32, 3, 6), dtype=np.uint8)
    sums = {}
    (tmp_path / "svhn").mkdir()
    for file, count in (("train_32x32.mat", 6), ("test_32x32.mat", 4)):
        path = tmp_path / "svhn" / file
        savemat(path, {"X": images[..., :count], "y": np.array([[1], [10], [9], [2], [3], [10]])[:count]})
        sums[file] = hashlib.md5(path.read_bytes()).hexdigest()
    monkeypatch.setenv("SCALINGLAB_DATA", str(tmp_path))
    with pytest.raises(data.records.Damaged, match="expected e26dedcc"):
        data.load("svhn")
    monkeypatch.setitem(SOURCES, "svhn", replace(SOURCES["svhn"], files=sums))
    loading.load_files.cache_clear()
    found = data.load("svhn", normalize="none")
    loading.load_files.cache_clear()
    assert found.train_y.tolist() == [1, 0, 9, 2, 3, 0]
    assert found.train_x.shape == (6, 3, 32, 32)
    assert found.train_x[5, 2, 7, 31] == images[7, 31, 2, 5]
    assert len(found.test_x) == 4
