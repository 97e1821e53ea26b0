"""Networks small enough to average over: derivatives, kernels and averages against each other."""

import numpy as np
import pytest
import torch

from scalinglab.theory.infinite_width import kernels
from scalinglab_papers.bahri2021.stacks import averages

SEEN = averages.Task(6, 8, noise=0.3, steps=12)
WIDE = averages.Task(4, 5, 3, steps=15)


@pytest.mark.slow
def test_the_coefficient_is_that_of_differences_of_losses():
    def loss(weights: np.ndarray) -> float:
        return float(averages.loss_of_weights(SEEN, torch.from_numpy(weights)))

    limit, gradient, c = averages.data_coefficient(SEEN)
    equal, h, n = np.full(6, 1 / 6), 1e-4, 6
    assert limit == pytest.approx(loss(equal))
    moved = [(loss(equal + h * e), loss(equal - h * e)) for e in np.eye(n)]
    assert gradient == pytest.approx([(up - down) / (2 * h) for up, down in moved], rel=1e-5)
    diagonal = sum(up - 2 * limit + down for up, down in moved) / h**2
    along_all = (loss(equal + h) - 2 * limit + loss(equal - h)) / h**2
    assert c == pytest.approx((diagonal / n - along_all / n**2) / 2, rel=1e-4)


@pytest.mark.slow
def test_draws_of_training_sets_have_this_coefficient():
    excess = averages.data_excess(SEEN, np.array([2000]), 30_000)[:, 0] * 2000
    error = excess.std() / np.sqrt(len(excess))
    c = averages.data_coefficient(SEEN)[2]
    assert abs(excess.mean() - c) < 3 * error
    assert error < 0.03 * abs(c)


@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_the_limit_is_that_of_kernel_steps_on_a_gaussian_process(activation: str):
    (x, y), (unseen, target) = ([part.numpy() for part in pair] for pair in WIDE.examples())
    both, n = kernels(np.concatenate([x, unseen]), activation=activation), WIDE.n_seen
    f = np.random.default_rng(0).multivariate_normal(np.zeros(len(both.nngp)), both.nngp, 40_000)
    for _ in range(WIDE.steps):
        f = f - WIDE.rate / n * (f[:, :n] - y) @ both.ntk[:n]
    losses = np.mean((f[:, n:] - target) ** 2, 1)
    error = losses.std() / np.sqrt(len(losses))
    moved = averages.moved_by_kernel(WIDE, activation)
    onto = np.concatenate([-moved, np.eye(WIDE.n_unseen)], 1)
    variance = np.einsum("ij,jk,ik->i", onto, both.nngp, onto)
    limit = np.mean((moved @ y[:n] - target) ** 2 + variance)
    assert abs(losses.mean() - limit) < 3 * error
    assert error < 0.02 * losses.mean()


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_wide_networks_have_the_loss_of_the_limit(activation: str):
    narrow, wide = (averages.width_excess(WIDE, activation, width, 20) for width in (16, 4096))
    assert np.abs(wide).mean() < 0.15 * np.abs(narrow).mean()
