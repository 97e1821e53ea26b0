"""Alignment, drift, and kernels read along training."""

import numpy as np
import pytest
import torch

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.store.files import StoreError


def test_alignment_is_one_for_the_target_itself_and_small_for_white_kernels():
    y = np.random.default_rng(0).normal(size=50)
    assert sl.measure.alignment(np.outer(y, y), y) == pytest.approx(1)
    assert sl.measure.alignment(3 * np.outer(y, y), -2 * y) == pytest.approx(1)
    assert sl.measure.alignment(np.eye(50), y) == pytest.approx(1 / np.sqrt(50))
    # eq. 134 written out, for two outputs
    rng = np.random.default_rng(1)
    half, two = rng.normal(size=(50, 50)), rng.normal(size=(50, 2))
    kernel = half @ half.T
    above = sum(two[:, a] @ kernel @ two[:, a] for a in range(2))
    assert sl.measure.alignment(kernel, two) == pytest.approx(
        above / (np.sum(two**2) * np.sqrt(np.sum(kernel**2)))
    )
    with pytest.raises(BadInput, match=r"\(n, n\)"):
        sl.measure.alignment(np.eye(3), y)


def test_drift_is_that_of_direction():
    kernel = np.diag([3.0, 1.0])
    assert sl.measure.drift(5 * kernel, kernel) == pytest.approx(0)
    assert sl.measure.drift(np.diag([0.0, 1.0]), np.diag([1.0, 0.0])) == pytest.approx(1)


SETTING = {
    "model": "mlp", "dataset": "digits", "n_data": 200, "model_options": {"hidden": 16}, "loss": "mse",
    "optimizer": "adam", "learning_rate": 1e-2, "steps": 30, "checkpoints_per_decade": 2, "measure": [],
}  # fmt: skip


def reading(n=60):
    digits = sl.data.load("digits")
    return sl.measure.KernelReading(torch.as_tensor(digits.inputs("test")[:n]), digits.test_y[:n])


def test_after_kernel_is_kept_along_training(tmp_path):
    frame = sl.train.run(SETTING, store=tmp_path, extra=reading(), progress=False).frame
    assert frame["kernel_drift"].iloc[0] == pytest.approx(0, abs=1e-12)
    assert frame["kernel_drift"].iloc[-1] > 0.01
    held = sl.Store(tmp_path).arrays(frame["run"].iloc[0])
    assert list(held) == frame["step"].tolist()
    last = held[30]
    assert (np.diff(last["kernel_eigenvalues"]) <= 0).all()
    value, power = last["kernel_eigenvalues"], last["kernel_target_power"]
    total = np.sum(reading().y ** 2) / 60
    expected = value @ power / (total * np.linalg.norm(value))  # eq. 134 in the kernel's eigenbasis
    assert frame["kernel_alignment"].iloc[-1] == pytest.approx(expected, rel=1e-6)
    share = last["kernel_target_power"][:10].sum() / last["kernel_target_power"].sum()
    assert frame["unexplained_10"].iloc[-1] == pytest.approx(1 - share, abs=1e-6)
    assert sl.Store(tmp_path).curves().frame["kernel_drift"].notna().all()
    broken = next((tmp_path / "arrays").glob("*/30.npz"))
    broken.write_bytes(broken.read_bytes()[:-40])
    with pytest.raises(StoreError, match="is damaged"):
        sl.Store(tmp_path).arrays(frame["run"].iloc[0])


def test_tracker_reads_kernels_too(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    tracker = sl.Tracker(model, n_data=10, store=tmp_path, norms=False, extra=reading(20))
    for step in (1, 2):
        tracker(step, loss=1.0)
    frame = tracker.finish().frame
    assert frame["kernel_drift"].tolist() == pytest.approx([0, 0], abs=1e-12)  # a linear model is always lazy
    assert set(sl.Store(tmp_path).arrays(tracker.writer.run)) == {1, 2}


@pytest.mark.slow
def test_setting_that_names_the_kernel_reads_it_and_counts_drift_from_the_initial_weights(tmp_path):
    setting = SETTING | {"measure": ["kernel"], "steps": 10}
    frame = sl.train.run(setting, store=tmp_path, progress=False).frame
    digits = sl.data.load("digits")
    x, y = torch.as_tensor(digits.inputs("test")[:250]), digits.test_y[:250]
    model = sl.nets.build("mlp", (1, 8, 8), 10, hidden=16, seed=0)
    start = sl.measure.ntk(model, x)
    again: dict[str, list] = {"kernel_drift": [], "kernel_alignment": []}

    def read(model):
        now = sl.measure.ntk(model, x)
        again["kernel_drift"].append(sl.measure.drift(now, start))
        targets = np.eye(10)[y]
        again["kernel_alignment"].append(sl.measure.alignment(now, targets - targets.mean(0)))
        return {}

    sl.train.run(SETTING | {"steps": 10}, extra=read, progress=False)
    for name, values in again.items():
        np.testing.assert_allclose(frame[name], values, rtol=1e-3, atol=1e-5)
    assert frame["kernel_drift"].iloc[0] > 0  # the first checkpoint is after a step
    assert set(sl.Store(tmp_path).arrays(frame["run"].iloc[0])[10]) == {
        "kernel_eigenvalues", "kernel_target_power"
    }  # fmt: skip


@pytest.mark.parametrize("device", [None, "cpu"])
def test_eigenvectors_rebuild_the_matrix_and_values_rise(device):
    root = np.random.default_rng(0).standard_normal((40, 40))
    matrix = (root @ root.T).astype(np.float32)
    values, vectors = sl.measure.eigh(matrix, device)
    assert values.dtype == vectors.dtype == np.float64
    assert (np.diff(values) > 0).all()
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-9 * values[-1])


def test_spectrum_of_a_kernel_takes_another_solver():
    called = []

    def solver(matrix):
        called.append(matrix.shape)
        return sl.measure.eigh(matrix, "cpu")

    root = np.random.default_rng(1).standard_normal((30, 60))
    y = root[:, 0]
    plain, other = (sl.Spectrum.from_kernel(root @ root.T, y, *which) for which in ((), (solver,)))
    assert called == [(30, 30)]
    np.testing.assert_allclose(other.eigenvalues, plain.eigenvalues, rtol=1e-10)
    np.testing.assert_allclose(other.target_power, plain.target_power, rtol=1e-6, atol=1e-12)
