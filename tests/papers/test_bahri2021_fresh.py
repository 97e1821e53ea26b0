"""Students of one teacher on fresh examples: a padded stack against students that are trained alone."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from scalinglab.data.teacher import TEST, random_teacher
from scalinglab.studies import trained
from scalinglab_papers.bahri2021 import fresh_students
from scalinglab_papers.bahri2021.stacks import fresh

CPU = torch.device("cpu")
STAGES = ((30, 16, 1e-2), (10, 64, 1e-3))


def alone(stack: fresh.Students, student: int, hidden: int, dimension: int) -> nn.Sequential:
    """A student of a stack as a network of its own width."""
    first, first_bias, second, second_bias, last, last_bias = (p[student].detach() for p in stack.parameters)
    model = nn.Sequential(
        nn.Linear(dimension, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, 1),
    )
    values = (
        first[:dimension, :hidden],
        first_bias[:, :hidden],
        second[:hidden, :hidden],
        second_bias[:, :hidden],
    )
    for own, value in zip(model.parameters(), (*values, last[:hidden], last_bias), strict=True):
        own.data = (value.T if own.ndim == 2 else value[0]).clone()
    return model


def test_a_padded_student_is_trained_as_if_it_were_alone():
    teachers = [random_teacher(2, width=16), random_teacher(3, width=16, seed=5)]
    students = [fresh.Student(0, 3, 0), fresh.Student(1, 7, 1), fresh.Student(0, 5, 2)]
    found = fresh.trained_losses(teachers, students, STAGES, 256)
    for k, one in enumerate(students):
        teacher = teachers[one.teacher]
        unseen = torch.from_numpy(teacher.inputs(256, TEST))
        model = alone(fresh.Students(students, (2, 3, 2), CPU), k, one.hidden, teacher.dimension)
        adam = torch.optim.Adam(model.parameters())
        torch.manual_seed(0)
        losses = []
        for steps, batch, rate in STAGES:
            adam.param_groups[0]["lr"] = rate
            for _ in range(steps):
                x = torch.rand((2, batch, 3))[one.teacher, :, : teacher.dimension] - 0.5
                loss = (model(x)[:, 0] - torch.from_numpy(teacher(x.numpy())[:, 0]).float()).square().mean()
                adam.zero_grad()
                loss.backward()
                adam.step()
            gap = model(unseen)[:, 0].detach().numpy() - teacher(unseen.numpy())[:, 0]
            losses.append(np.mean(gap**2))
        assert [row["test_loss"] for row in found[k]] == pytest.approx(losses, rel=1e-3)
        assert [row["step"] for row in found[k]] == [30, 40]


def test_initial_weights_are_those_of_torch_for_each_width():
    stack = fresh.Students([fresh.Student(0, 400, 0), fresh.Student(0, 100, 1)], (2, 2), CPU)
    first, _, second, second_bias, last, _ = (p.detach() for p in stack.parameters)
    assert first[0].abs().max() == pytest.approx(2**-0.5, rel=0.02)
    for student, hidden in enumerate((400, 100)):
        for value in (second[student, :hidden, :hidden], last[student, :hidden]):
            assert value.std() == pytest.approx((3 * hidden) ** -0.5, rel=0.1)
        assert second_bias[student, 0, :hidden].abs().max() <= hidden**-0.5
        assert not second[student, hidden:].any()


def test_a_teacher_without_biases_is_homogeneous():
    teacher = random_teacher(3, width=32)
    plain = fresh.without_biases(teacher)
    x = teacher.inputs(200)
    level = plain.shift / plain.spread
    assert plain(2 * x) + level == pytest.approx(2 * (plain(x) + level))
    assert plain(teacher.inputs(20_000)).std() == pytest.approx(1, rel=0.02)
    assert not np.allclose(teacher(2 * x) - teacher(0 * x), 2 * (teacher(x) - teacher(0 * x)))


def test_students_that_are_in_the_store_are_not_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    families = (
        fresh_students.Family((2,), (3, 4), True),
        fresh_students.Family((2,), (3,), False, 20),
    )
    s = fresh_students.Scale(families, 2, 64, ((4, 8, 1e-2),))
    with trained.storing_in(tmp_path):
        first = fresh_students.losses(s)
        monkeypatch.setattr(fresh, "trained_losses", lambda *_: 1 / 0)
        again = fresh_students.losses(s)
    assert sorted(first["test_loss"]) == sorted(again["test_loss"])
    assert set(first["n_params"]) == {3 * 3 + 4 * 3 + 4, 3 * 4 + 5 * 4 + 5}
    names = {"a teacher with biases": 4, "a teacher of 20 units without biases": 2}
    assert first["teacher_name"].value_counts().to_dict() == names
