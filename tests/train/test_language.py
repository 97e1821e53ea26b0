"""Language models in the engine: causal, trained on every position, refused where something does not fit."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from scalinglab import data, nets
from scalinglab.errors import BadInput
from scalinglab.train import Setting, run, run_many
from scalinglab.train.training_step import objective

SETTING = {
    "model": "decoder", "dataset": "text", "data_options": {"context": 8, "n_test": 16, "n_data": 32},
    "depth": 1, "model_options": {"dim": 8, "heads": 2}, "batch_size": 8, "steps": 12, "measure": [],
    "learning_rate": 0.02, "checkpoints_per_decade": 2, "evaluate_at_most": 16,
}  # fmt: skip


def decoder(**options):
    return nets.build("decoder", (8,), 256, seed=0, depth=2, dim=16, heads=2, **options)


def test_a_position_sees_what_is_before_it_and_nothing_after():
    x = torch.randint(0, 256, (3, 8), generator=torch.Generator().manual_seed(0))
    other = x.clone()
    other[:, 5] = (x[:, 5] + 1) % 256
    model = decoder()
    change = (model(x) - model(other)).abs().amax((0, 2))
    assert change.shape == (8,)
    assert change[:5].max() == 0
    assert change[5:].min() > 1e-4


def test_positions_are_told_apart():
    x = torch.full((1, 8), 65)
    outputs = decoder()(x)[0]
    assert (outputs[1:] - outputs[:-1]).abs().amax(1).min() > 1e-3


def test_loss_is_the_mean_cross_entropy_over_all_positions():
    logits, y = torch.randn(2, 3, 8, 256), torch.randint(0, 256, (2, 3, 8))
    setting = Setting.from_dict(SETTING)
    expected = [F.cross_entropy(logits[r].reshape(-1, 256), y[r].reshape(-1)) for r in range(2)]
    torch.testing.assert_close(objective(logits, y, setting), torch.stack(expected))
    live = torch.tensor([[True, True, False], [True, False, False]])
    some = torch.stack([F.cross_entropy(logits[r][live[r]].reshape(-1, 256), y[r][live[r]].reshape(-1))
                        for r in range(2)])  # fmt: skip
    torch.testing.assert_close(objective(logits, y, setting, live=live), some)


def test_the_engine_trains_it_and_measures_every_position():
    curves = run(SETTING, progress=False)
    frame = curves.frame.sort_values("step")
    assert frame["train_loss"].iloc[-1] < 0.8 * frame["train_loss"].iloc[0]
    text = data.text(n_data=32, n_test=16, context=8)
    one = run(SETTING | {"steps": 1, "learning_rate": 1e-12}, progress=False).frame.iloc[-1]
    model = nets.build("decoder", (8,), 256, seed=0, depth=1, dim=8, heads=2)
    logits, y = model(torch.as_tensor(text.test_x)).detach(), torch.as_tensor(text.test_y)
    assert one["test_loss"] == pytest.approx(
        float(F.cross_entropy(logits.flatten(0, 1), y.flatten())), rel=1e-5
    )
    assert one["test_error"] == pytest.approx(float((logits.argmax(-1) != y).double().mean()), abs=1e-9)
    assert one["test_loss"] > 0.7 * math.log(256)


def test_stacked_runs_match_single_ones():
    both = run_many([SETTING | {"seed": s} for s in (0, 1)], max_stacked=2, progress=False).frame
    alone = run(SETTING | {"seed": 1}, progress=False).frame
    np.testing.assert_allclose(both[both["seed"] == 1]["test_loss"], alone["test_loss"], rtol=1e-4)


def test_online_text_is_seen_once():
    setting = Setting.from_dict(SETTING | {"online": True, "data_options": {"context": 8, "n_test": 16}})
    assert setting.n_data == 12 * 8
    with pytest.raises(BadInput, match="take fewer"):
        run(SETTING | {"online": True, "steps": 10**6, "data_options": {"context": 1024}}, progress=False)


def test_norms_are_those_of_the_map_from_the_vectors_of_tokens():
    row = run(SETTING | {"measure": ["norm"], "steps": 1}, progress=False).frame.iloc[-1]
    assert 0 < row["norm_log"] < 100
    assert row["compute"] > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "mlp", "depth": None, "model_options": {}}, "a decoder takes text"),
        ({"dataset": "digits", "data_options": {}}, "a decoder takes text"),
        ({"loss": "mse"}, "loss='mse' is not for text"),
        ({"label_noise": 0.1}, "label_noise"),
        ({"measure": ["margin"]}, "margin"),
        ({"pool": 2}, "pool=2 is for images"),
        ({"online": True, "steps": None, "epochs": 2}, "give steps"),
        ({"data_options": {"contxt": 8}}, "contxt"),
    ],
)
def test_what_does_not_go_with_text_is_refused(change, words):
    with pytest.raises(BadInput, match=words):
        run(SETTING | change, progress=False)


def test_shapes_that_are_no_rows_of_tokens_are_refused():
    with pytest.raises(BadInput, match="rows of tokens"):
        nets.build("decoder", (1, 8, 8), 10)
