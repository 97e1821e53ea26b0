"""The kernels of stacked perceptrons: the steps of single runs, on a GPU or interpreted by Triton."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from scalinglab.train import jobs, replicas
from scalinglab.train.setting import Setting
from tests.train.interpreted import COMPUTES, DEVICE, GPU, check_interpreted, needs_triton

pytestmark = needs_triton
MLP = {
    "model": "mlp", "depth": 1, "dataset": "digits", "width": 0.25, "n_data": 200, "steps": 25,
    "parameterization": "ntk", "optimizer": "nesterov", "learning_rate": 0.5, "graphs": True, "measure": [],
}  # fmt: skip
SEARCH = [{**MLP, "batch_size": batch, "seed": seed} for batch, seed in ((8, 0), (20, 1), (33, 2), (64, 3))]


def group(*settings: dict) -> replicas.Group:
    return jobs.build([Setting.from_dict(s) for s in settings], DEVICE)


if not COMPUTES:

    def test_interpreted_kernels() -> None:
        check_interpreted(__file__)

else:

    @pytest.fixture(autouse=True)
    def as_compiled(monkeypatch) -> None:
        """The interpreter would multiply the bits of bf16 as integers, and takes no masks of integers."""
        if GPU:
            return
        import triton.language as tl
        from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

        def number(handle):
            if handle.dtype.scalar != tl.bfloat16:
                return handle
            return TensorHandle((handle.data.astype(np.uint32) << 16).view(np.float32), tl.float32)

        def mask(handle):
            return TensorHandle(handle.data.astype(bool), handle.dtype)

        dot, load = InterpreterBuilder.create_dot, InterpreterBuilder.create_masked_load
        monkeypatch.setattr(
            InterpreterBuilder, "create_dot", lambda self, a, b, *rest: dot(self, number(a), number(b), *rest)
        )
        monkeypatch.setattr(
            InterpreterBuilder, "create_masked_load",
            lambda self, place, chosen, *rest: load(self, place, mask(chosen), *rest),
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("depth", "extra"),
        [
            (1, {"width": 0.3}),  # 38 units: not all blocks are full
            (1, {"optimizer": "sgd", "weight_decay": 1e-3, "label_smoothing": 0.2, "pixels": "apart"}),
            (1, {"batch_size": 12}),
            (1, {"batch_size": 130}),
            (2, {"optimizer": "sgd", "momentum": 0.5, "batch_size": 40}),
            (2, {"batch_size": 130}),
            (2, {"parameterization": "mup", "learning_rate": 0.05, "width": 0.4}),
            (3, {"label_smoothing": 0.2, "pixels": "apart"}),
        ],
    )
    def test_the_kernels_take_the_steps_of_single_runs(depth: int, extra: dict, kernels) -> None:
        pixels = extra.get("pixels")
        extra = {k: v for k, v in extra.items() if k != "pixels"}
        settings = [{**s, "depth": depth, **extra} for s in SEARCH]
        settings[1] |= {"learning_rate": 0.1, "n_data": 50}
        kernels(True)
        fused = group(*settings)
        assert fused.fused is not None
        fused.fused.uniform &= pixels != "apart"  # as if every pixel had its own scale
        fused.stream.fill(0, 4)
        for count in (3, 1):  # captured graphs hold several steps
            fused.fused.steps(count)
        assert int(fused.clock.counter) == 4
        kernels(False)
        for r, setting in enumerate(settings):
            alone = group(setting)
            assert alone.fused is None
            alone.advance(4)
            for name, value in alone.parameters.items():
                assert torch.allclose(value[0], fused.parameters[name][r], rtol=1e-4, atol=1e-5), (r, name)

    @pytest.mark.filterwarnings("ignore:invalid value")  # of the interpreter, at what is not a number
    def test_the_kernels_see_divergence_and_spare_the_neighbours(kernels) -> None:
        kernels(True)
        fused = group(*SEARCH[:2])
        with torch.no_grad():
            fused.parameters["body.1.weight"][1, 0, 0] = float("nan")
        fused.advance(3)
        assert fused.clock.diverged_at.tolist() == [-1, 0]
        assert all(bool(torch.isfinite(value[0]).all()) for value in fused.parameters.values())
        fused.keep([0])
        fused.advance(2)
        assert int(fused.clock.counter) == 5

    @pytest.mark.skipif(not GPU, reason="a GPU runs programs side by side")
    @pytest.mark.parametrize("depth", [1, 2])
    def test_the_kernels_repeat_their_bits(depth: int) -> None:
        one, other = (group(*({**s, "depth": depth, "width": 2.0} for s in SEARCH)) for _ in range(2))
        for some in (one, other):
            some.advance(40)
        for name, value in one.parameters.items():
            assert torch.equal(value, other.parameters[name]), name
