"""Spectral and (2,1) norms of convolutions against dense matrices and Fourier transforms."""

import numpy as np
import pytest
import torch

from scalinglab.errors import BadInput, NotConverged
from scalinglab.measure.network_norms.lanczos import begin, extend, spectral_norm
from scalinglab.measure.network_norms.operators import (
    ConvGeometry,
    _pad,
    _windows,
    conv_adjoint,
    conv_apply,
    rows_norm,
)

GEOMETRIES = [
    ConvGeometry(3, (7, 6)),
    ConvGeometry(3, (7, 6), padding=(1, 1)),
    ConvGeometry(3, (8, 7), stride=(2, 2), padding=(1, 1)),
    ConvGeometry(3, (8, 9), stride=(2, 1), padding=(2, 0)),
    ConvGeometry(3, (9, 9), padding=(2, 2), dilation=(2, 2)),
    ConvGeometry(3, (6, 6), padding="same"),
    ConvGeometry(4, (6, 5), padding=(1, 1), groups=2),
    ConvGeometry(3, (6, 5), padding=(1, 1), padding_mode="circular"),
]


def kernel(geometry: ConvGeometry, out: int, replicas: int = 2, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    shape = (replicas, out, geometry.channels // geometry.groups, 3, 3)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def dense_matrix(weight: torch.Tensor, geometry: ConvGeometry) -> torch.Tensor:
    """The convolution of one replica as a matrix, by PyTorch's own layer on every basis image."""
    layer = torch.nn.Conv2d(
        geometry.channels, len(weight), 3, geometry.stride, geometry.padding, geometry.dilation,
        geometry.groups, bias=False, padding_mode=geometry.padding_mode,
    ).double()  # fmt: skip
    with torch.no_grad():
        layer.weight.copy_(weight)
        size = geometry.channels * geometry.image[0] * geometry.image[1]
        basis = torch.eye(size, dtype=torch.float64).reshape(size, geometry.channels, *geometry.image)
        return layer(basis).flatten(1).T


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_spectral_and_21_norm_equal_those_of_the_dense_matrix(geometry):
    weight = kernel(geometry, out=4)
    matrices = torch.stack([dense_matrix(w, geometry) for w in weight])
    found = spectral_norm(weight, geometry, tolerance=1e-8)
    torch.testing.assert_close(found.norm, torch.linalg.matrix_norm(matrices, 2), rtol=1e-8, atol=0)
    torch.testing.assert_close(rows_norm(weight, geometry), matrices.norm(dim=2).sum(1), rtol=1e-12, atol=0)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_adjoint_is_the_transpose(geometry):
    weight = kernel(geometry, out=4)
    x = torch.randn(2, geometry.channels, *geometry.image, dtype=torch.float64)
    image = conv_apply(weight, x, geometry)
    y = torch.randn_like(image)
    left = (image * y).flatten(1).sum(1)
    right = (x * conv_adjoint(weight, y, geometry)).flatten(1).sum(1)
    torch.testing.assert_close(left, right)


def test_circular_convolution_agrees_with_the_fourier_transform():
    geometry = ConvGeometry(5, (16, 12), padding=(1, 1), padding_mode="circular")
    weight = kernel(geometry, out=7, replicas=3)
    # Sedghi, Gupta, Long (2019): singular values are those of the channel matrices at each frequency
    transforms = np.fft.fft2(weight.numpy(), s=geometry.image).transpose(0, 3, 4, 1, 2)
    expected = np.linalg.norm(transforms, ord=2, axis=(-2, -1)).max((1, 2))
    found = spectral_norm(weight, geometry, tolerance=1e-8)
    np.testing.assert_allclose(found.norm, expected, rtol=1e-8)


@pytest.mark.slow
def test_result_is_a_lower_bound_within_its_tolerance():
    geometry = ConvGeometry(8, (8, 8), padding=(1, 1))
    weight = kernel(geometry, out=8, replicas=3)
    exact = torch.stack([torch.linalg.matrix_norm(dense_matrix(w, geometry), 2) for w in weight])
    for tolerance in (1e-1, 1e-2, 1e-3):
        found = spectral_norm(weight, geometry, tolerance=tolerance)
        assert (found.norm <= exact * (1 + 1e-12)).all()
        assert (found.norm >= exact * (1 - tolerance)).all()
        assert (found.error <= tolerance).all()


def test_a_warm_start_needs_fewer_products_and_finds_a_vector_that_has_overtaken():
    geometry = ConvGeometry(16, (12, 12), padding=(1, 1))
    weight = kernel(geometry, out=16, replicas=1)
    cold = spectral_norm(weight, geometry, tolerance=1e-3)
    near = weight + 1e-3 * kernel(geometry, out=16, replicas=1, seed=1)
    warm = spectral_norm(near, geometry, start=cold.vector, tolerance=1e-3)
    assert warm.products < cold.products
    assert abs(float(warm.norm / spectral_norm(near, geometry, tolerance=1e-6).norm) - 1) < 1e-3
    # a matrix whose leading singular vector is orthogonal to the start
    matrix = torch.diag(torch.linspace(1, 2, 200, dtype=torch.float64))[None]
    matrix[0, 0, 0] = 10.0
    start = torch.zeros(1, 200, dtype=torch.float64)
    start[0, -1] = 1.0
    assert float(spectral_norm(matrix, start=start).norm) == pytest.approx(10.0, rel=1e-4)


def test_dense_norm_equals_the_singular_value_for_small_and_large_matrices():
    for shape in ((2, 10, 300), (2, 300, 10), (2, 150, 200)):
        weight = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        exact = torch.linalg.matrix_norm(weight.double(), 2)
        torch.testing.assert_close(spectral_norm(weight).norm, exact, rtol=1e-4, atol=0)


def test_a_diverged_replica_is_nan_and_leaves_the_others_alone():
    for shape in ((3, 10, 20), (3, 100, 120)):
        weight = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        alone = spectral_norm(weight[:1]).norm
        weight[1, 0, 0] = float("nan")
        weight[2] = 0.0
        norm = spectral_norm(weight).norm
        assert norm[1].isnan()
        assert float(norm[2]) == 0.0
        torch.testing.assert_close(norm[:1], alone, rtol=1e-4, atol=0)


def test_too_few_steps_raise_and_a_bad_tolerance_is_named():
    weight = torch.randn(1, 200, 200, generator=torch.Generator().manual_seed(0))
    with pytest.raises(NotConverged, match="Lanczos"):
        spectral_norm(weight, tolerance=1e-9, max_steps=8)
    with pytest.raises(BadInput, match="tolerance"):
        spectral_norm(weight, tolerance=0.0)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_windows_of_a_stack_are_the_patches_of_each_image(geometry):
    padded = _pad(torch.randn(3, geometry.channels, *geometry.image), geometry, (3, 3))
    expected = torch.nn.functional.unfold(padded, 3, geometry.dilation, stride=geometry.stride)
    assert torch.equal(_windows(padded, geometry, (3, 3)), expected)


@pytest.mark.slow
def test_what_is_found_for_a_replica_does_not_depend_on_the_others():
    geometry = ConvGeometry(8, (10, 10), padding=(1, 1))
    weight = kernel(geometry, out=8, replicas=6)
    for start in (None, spectral_norm(weight, geometry, tolerance=1e-2).vector):
        together = spectral_norm(weight + 0.01, geometry, start, tolerance=1e-3)
        for r in range(len(weight)):
            own = None if start is None else start[r : r + 1]
            alone = spectral_norm(weight[r : r + 1] + 0.01, geometry, own, tolerance=1e-3)
            assert float(alone.norm) == pytest.approx(float(together.norm[r]), rel=1e-12)
            torch.testing.assert_close(alone.vector[0], together.vector[r], rtol=0, atol=1e-9)
        products = [
            spectral_norm(weight[r : r + 1] + 0.01, geometry, tolerance=1e-3).products for r in range(6)
        ]
        assert len(set(products)) > 1  # they do take different times


def test_the_basis_stays_orthonormal_where_the_spectrum_is_narrow():
    # singular values within 12 % of each other, in single precision: every step cancels a digit
    weight = torch.randn(1, 64, 8192, generator=torch.Generator().manual_seed(0))
    basis = extend(extend(begin(weight, None, None), 16), 16).basis[0]
    torch.testing.assert_close(basis @ basis.T, torch.eye(33), rtol=0, atol=1e-5)


@pytest.mark.slow
def test_a_warm_start_finds_a_singular_vector_that_grows_out_of_the_others():
    # training lets a smooth pattern grow in a random kernel until it is the largest: followed from the start
    geometry = ConvGeometry(16, (16, 16), padding=(1, 1))
    weight = kernel(geometry, out=16, replicas=1)
    torch.manual_seed(0)
    grown = torch.randn(1, 16, 1, 1, 1, dtype=torch.float64) * torch.randn(
        1, 1, 16, 1, 1, dtype=torch.float64
    )
    found, exact, start = [], [], None
    for size in np.linspace(0, 0.3, 13):
        now = weight + size * grown
        spectral = spectral_norm(now, geometry, start, tolerance=1e-3)
        start = spectral.vector
        found.append(float(spectral.norm))
        exact.append(float(spectral_norm(now, geometry, tolerance=1e-6).norm))
    assert exact[-1] > 1.2 * exact[0]
    np.testing.assert_allclose(found, exact, rtol=1e-2)
