"""Closed-form kernels against quadrature, finite networks and known special cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erf

from scalinglab.errors import BadInput
from scalinglab.theory import infinite_width
from tests.properties import examples

PHI = {"relu": lambda h: np.maximum(h, 0), "erf": erf}
SLOPE = {"relu": lambda h: (h > 0) * 1.0, "erf": lambda h: 2 / np.sqrt(np.pi) * np.exp(-(h**2))}


def inputs(n=4, dimension=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dimension))


def recursion_by_quadrature(x, depth, activation, weight, bias, nodes=400):
    """The two expectations by brute-force integration over a polar grid in the plane of (u, u')."""
    radius, radial = np.polynomial.legendre.leggauss(nodes)
    radius, radial = 6 * (radius + 1), 6 * radial  # 0..12 standard deviations
    angle = 2 * np.pi * (np.arange(4 * nodes) + 0.5) / (4 * nodes)
    weights = np.outer(radial * radius * np.exp(-(radius**2) / 2), np.ones_like(angle)) / (4 * nodes)
    a, b = np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle))
    kernel = bias + weight * x @ x.T / x.shape[1]
    tangent = kernel.copy()
    for _ in range(depth):
        product, slope = np.empty_like(kernel), np.empty_like(kernel)
        for i in range(len(x)):
            for j in range(i + 1):
                u = np.sqrt(kernel[i, i]) * a
                along = kernel[i, j] / np.sqrt(kernel[i, i])
                v = along * a + np.sqrt(max(kernel[j, j] - along**2, 0)) * b
                product[i, j] = product[j, i] = (weights * PHI[activation](u) * PHI[activation](v)).sum()
                slope[i, j] = slope[j, i] = (weights * SLOPE[activation](u) * SLOPE[activation](v)).sum()
        kernel = bias + weight * product
        tangent = kernel + weight * tangent * slope
    return kernel, tangent


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_kernels_match_numerical_integration_of_the_recursion(activation):
    x = inputs(3)
    found = infinite_width.kernels(x, depth=2, activation=activation, weight_variance=1.7, bias_variance=0.3)
    # the grid resolves ReLU's kink to first order only
    nodes, tolerance = (400, 2e-4) if activation == "relu" else (100, 1e-8)
    kernel, tangent = recursion_by_quadrature(x, 2, activation, 1.7, 0.3, nodes)
    np.testing.assert_allclose(found.nngp, kernel, rtol=tolerance)
    np.testing.assert_allclose(found.ntk, tangent, rtol=4 * tolerance)


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_wide_finite_networks_concentrate_on_the_kernels(activation):
    """Mean over 40 networks of width 512 within 4 standard errors (+ the known 1/width bias)."""
    x, width, networks, weight, bias = inputs(3), 512, 40, 1.5, 0.2
    rng = np.random.default_rng(1)
    nngp, ntk = [], []
    for _ in range(networks):
        w1, w2 = rng.normal(size=(3, width)), rng.normal(size=(width, width))
        b1, b2 = rng.normal(size=width), rng.normal(size=width)
        readout = rng.normal(size=width)
        h1 = np.sqrt(weight / 3) * x @ w1 + np.sqrt(bias) * b1
        z1 = PHI[activation](h1)
        h2 = np.sqrt(weight / width) * z1 @ w2 + np.sqrt(bias) * b2
        z2 = PHI[activation](h2)
        nngp.append(bias + weight * z2 @ z2.T / width)
        back2 = np.sqrt(weight / width) * readout * SLOPE[activation](h2)  # ∂f/∂h2
        back1 = np.sqrt(weight / width) * (back2 @ w2.T) * SLOPE[activation](h1)
        ntk.append(
            nngp[-1]
            + (back2 @ back2.T) * (weight * z1 @ z1.T / width + bias)
            + (back1 @ back1.T) * (weight * x @ x.T / 3 + bias)
        )
    found = infinite_width.kernels(
        x, depth=2, activation=activation, weight_variance=weight, bias_variance=bias
    )
    for samples, exact in ((nngp, found.nngp), (ntk, found.ntk)):
        error = np.std(samples, 0, ddof=1) / np.sqrt(networks)
        assert np.all(np.abs(np.mean(samples, 0) - exact) < 4 * error + 3 / width * exact.max())


def test_critical_relu_network_keeps_the_norm_of_its_input_and_counts_layers():
    """At σ_w² = 2 without biases K(x,x) = 2|x|²/d at every depth and Θ(x,x) = (depth + 1) K(x,x)."""
    x = inputs(5)
    for depth in (0, 1, 4, 30):
        found = infinite_width.kernels(x, depth=depth)
        norm = 2 * (x**2).sum(1) / x.shape[1]
        np.testing.assert_allclose(np.diag(found.nngp), norm, rtol=1e-12)
        np.testing.assert_allclose(np.diag(found.ntk), (depth + 1) * norm, rtol=1e-12)


@examples(30)
@given(
    depth=st.integers(0, 6),
    activation=st.sampled_from(["relu", "erf"]),
    bias=st.floats(0, 2),
    seed=st.integers(0, 99),
)
def test_kernels_are_symmetric_positive_and_ntk_dominates_nngp(depth, activation, bias, seed):
    found = infinite_width.kernels(inputs(6, 3, seed), depth=depth, activation=activation, bias_variance=bias)
    np.testing.assert_allclose(found.ntk, found.ntk.T, rtol=1e-12)
    top = np.linalg.eigvalsh(found.ntk)[-1]
    assert np.linalg.eigvalsh(found.nngp)[0] > -1e-10 * top
    assert np.linalg.eigvalsh(found.ntk - found.nngp)[0] > -1e-10 * top


def test_cross_kernel_is_a_block_of_the_joint_one():
    x = inputs(7)
    joint = infinite_width.ntk(x, depth=3, bias_variance=0.1)
    np.testing.assert_allclose(
        infinite_width.ntk(x[:4], x[4:], depth=3, bias_variance=0.1), joint[:4, 4:], rtol=1e-13
    )


def test_a_zero_image_has_a_finite_kernel():
    found = infinite_width.kernels(np.vstack([np.zeros(3), inputs(2)]), depth=2)
    assert np.isfinite(found.ntk).all()
    assert found.nngp[0, 0] == 0


def test_bad_inputs_are_named():
    with pytest.raises(BadInput, match="'relu'"):
        infinite_width.kernels(inputs(), activation="rleu")
    with pytest.raises(BadInput, match="flatten"):
        infinite_width.kernels(np.zeros((2, 3, 3)))
    with pytest.raises(BadInput, match="3 and 4 dim"):
        infinite_width.kernels(inputs(2, 3), inputs(2, 4))
