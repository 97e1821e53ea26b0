"""Training at a fixed spectral complexity: it stays, and a projection changes no classification."""

import numpy as np
import pytest
import torch

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.measure import NormTracker
from scalinglab.train.checkpoints.projection import Projection
from scalinglab.train.jobs import build
from scalinglab.train.setting import Setting

MLP = {"model": "mlp", "dataset": "digits", "width": 0.125, "n_data": 200, "batch_size": 50, "steps": 40}


def test_the_complexity_stays_at_its_target_through_a_training():
    settings = [{**MLP, "complexity": r, "checkpoints_per_decade": 3} for r in (30.0, 300.0)]
    frame = sl.train.run_many(settings, progress=False).frame
    np.testing.assert_allclose(frame["norm"], frame["complexity"], rtol=5e-3)
    losses = frame[frame["step"] == 40].sort_values("complexity")["train_loss"]
    assert losses.iloc[0] > losses.iloc[1]  # the smaller complexity is the less sure one


def test_a_projection_multiplies_outputs_by_the_ratio_of_complexities():
    setting = Setting.from_dict({**MLP, "model": "cnn", "width": 0.0625, "complexity": 50.0})
    group = build([setting], torch.device("cpu"))
    with torch.no_grad():
        for name, value in group.parameters.items():
            if name.endswith("bias"):
                value.normal_()
    x = torch.randn(7, 1, 8, 8)
    before, norm = group.module(0)(x).detach(), sl.measure.norms(group.module(0), (1, 8, 8))
    Projection(group, NormTracker(group.model, (1, 8, 8), which=("spectral_complexity",), tolerance=1e-6))()
    after = group.module(0)(x).detach()
    torch.testing.assert_close(after, before * 50.0 / norm["spectral_complexity"], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("model", ["resnet", "vit"])
def test_networks_that_are_no_chain_are_refused(model):
    options = {"vit": {"patch": 4, "dim": 16, "heads": 2}, "resnet": {"stages": [1], "channels": [4]}}
    setting = {**MLP, "model": model, "width": 1.0, "model_options": options[model], "complexity": 5.0}
    with pytest.raises(BadInput, match="no chain of layers"):
        sl.train.run(setting, progress=False)


def test_runs_with_and_without_a_fixed_complexity_do_not_share_a_step():
    plain, one, other = (
        Setting.from_dict({**MLP, **more}) for more in ({}, {"complexity": 5.0}, {"complexity": 9.0})
    )
    assert one.kind() == other.kind() != plain.kind()
    assert one.run != other.run
