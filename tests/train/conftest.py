"""Machines that are pretended for the tests of training."""

import pytest


@pytest.fixture
def kernels(monkeypatch):
    """Says whether there are kernels of stacks of perceptrons, as on a GPU with Triton."""
    from scalinglab.train.kernels import fused_mlp

    return lambda here: monkeypatch.setattr(fused_mlp, "available", lambda device: here)
