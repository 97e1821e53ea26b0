"""Evaluations in pieces of one length, as compiled ones are."""

from __future__ import annotations

import pytest
import torch

from scalinglab.train import jobs, training_step
from scalinglab.train.evaluation import Evaluator
from scalinglab.train.setting import Setting

CNN = {"model": "cnn", "dataset": "digits", "width": 0.125, "n_data": 300, "batch_size": 32, "steps": 60}


@pytest.mark.parametrize("piece", [7, 100, 300, 2000])
def test_pieces_that_are_filled_up_give_the_losses_of_the_examples_alone(piece: int) -> None:
    group = jobs.build([Setting.from_dict({**CNN, "measure": []})], torch.device("cpu"))
    (plain,) = group.evaluate([0])
    program = group.program
    program.piece = piece
    seen: list[int] = []
    hook = program.trained.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    (pieces,) = Evaluator(program, group.stream, 1, captures=False).begin(
        {k: v.detach() for k, v in group.working.items()}, group.buffers, [0]
    ).result()  # fmt: skip
    hook.remove()
    program.piece = None  # groups of the same network share the program
    assert set(seen) == {piece}
    assert pieces == pytest.approx(plain, rel=1e-5)


def test_evaluations_are_compiled_for_networks_in_another_form_only(monkeypatch) -> None:
    def piece(**values) -> int | None:
        return jobs.build(
            [Setting.from_dict({**CNN, "measure": [], **values})], torch.device("cpu")
        ).program.piece

    assert piece() is None
    monkeypatch.setattr(training_step, "compiled", lambda function: function)
    monkeypatch.setattr(training_step, "repeats", lambda model: True)
    monkeypatch.setattr(training_step, "compiled_blocks", lambda model: torch.nn.Sequential(model))
    assert piece(compile=True) == training_step.PIECE
    assert piece(compile=True, model="mlp") is None
