"""The bound on a spectral norm's error holds: over hundreds of layers against the dense singular values."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from scalinglab import nets
from scalinglab.measure.network_norms import lanczos
from scalinglab.measure.network_norms.lanczos import begin, extend, log_growth, proven_error, spectral_norm
from scalinglab.measure.network_norms.operators import ConvGeometry, normal_product
from scalinglab.measure.network_norms.tracing import trace

ROUNDING = 1e-6  # of single precision


def dense_norms(weight: torch.Tensor, geometry: ConvGeometry | None) -> torch.Tensor:
    """‖A‖_σ of every replica by diagonalising AᵀA as a dense matrix."""
    if geometry is None:
        return torch.linalg.matrix_norm(weight.double(), 2)
    size = lanczos.vector_size(weight.shape[1:], geometry)
    basis = torch.eye(size, dtype=torch.float64)
    grams = [normal_product(w.double().expand(size, *w.shape), basis, geometry) for w in weight]
    return torch.linalg.eigvalsh(torch.stack(grams))[:, -1].sqrt()


def missed(weight: torch.Tensor, geometry: ConvGeometry | None, tolerance: float = 1e-4) -> list[int]:
    """Replicas whose norm is no lower bound, or further from the true one than the error that is promised."""
    found, true = spectral_norm(weight, geometry, tolerance=tolerance), dense_norms(weight, geometry)
    assert found.proven
    assert (found.error <= tolerance).all()
    low, high = found.norm * (1 - ROUNDING), found.norm * (1 + found.error + ROUNDING)
    return torch.nonzero((low > true) | (true > high)).flatten().tolist()


@pytest.fixture(scope="module")
def small_networks() -> dict[str, tuple[torch.Tensor, ConvGeometry | None]]:
    """Every layer of 24 small networks, stacked; convolutions of few pixels have close singular values."""
    weights: dict[str, list[torch.Tensor]] = {}
    for seed in range(24):
        model = nets.build("cnn", (1, 8, 8), 10, width=0.125)
        nets.initialize(model, seed)
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.Conv2d | torch.nn.Linear):
                weights.setdefault(name, []).append(module.weight.detach())
    forms = {layer.name: layer.geometry for layer in trace(model, (1, 8, 8)).layers}
    return {name: (torch.stack(stack), forms[name]) for name, stack in weights.items()}


@pytest.mark.slow
def test_bound_holds_for_all_layers_of_small_networks(small_networks):
    assert sum(len(weight) for weight, _ in small_networks.values()) == 120
    wrong = {name: missed(*layer) for name, layer in small_networks.items()}
    assert not any(wrong.values()), wrong


def test_the_second_of_two_close_singular_values_is_not_taken_for_the_first(small_networks):
    weight, geometry = small_networks["body.2"]
    assert float(spectral_norm(weight[3:4], geometry).norm) == pytest.approx(3.26850, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("channels", "side"), [(2, 8), (3, 6), (4, 7)])
def test_bound_holds_for_random_convolutions(channels: int, side: int, stride: int):
    random = torch.Generator().manual_seed(channels)
    geometry = ConvGeometry(channels, (side, side), stride=(stride, stride), padding=(1, 1))
    for tolerance in (1e-2, 1e-4):
        assert missed(torch.randn(40, 5, channels, 3, 3, generator=random), geometry, tolerance) == []


def test_bound_holds_for_random_matrices():
    random = torch.Generator().manual_seed(0)
    assert missed(torch.randn(60, 60, 90, generator=random), None) == []


def test_bound_holds_where_singular_values_are_close():
    """‖A‖ = 1 with the next one at 1 − 10⁻³ … 1 − 10⁻⁵, in random bases."""
    random = torch.Generator().manual_seed(1)
    values = torch.linspace(0, 0.9, 60, dtype=torch.float64).repeat(60, 1)
    values[:, -1] = 1.0
    values[:, -2] = 1 - 10.0 ** -(3 + torch.arange(60) % 3)
    bases = torch.linalg.qr(torch.randn(60, 60, 60, generator=random, dtype=torch.float64))[0]
    assert missed(bases * values[:, None], None, tolerance=1e-3) == []


def test_growth_is_that_of_the_lanczos_vectors():
    """At an eigenvalue λ_i of a diagonal matrix p_j(λ_i) is the ratio of components of two vectors."""
    values = torch.linspace(0.5, 2.0, 60, dtype=torch.float64)
    krylov = extend(begin(torch.diag(values)[None], None, None), 9)
    basis = krylov.basis[0].numpy()
    expected = np.log(((basis / basis[0]) ** 2).sum(0)) / 2
    entries = np.repeat(krylov.entries.numpy(), 60, axis=0)
    np.testing.assert_allclose(log_growth(entries, (values**2).numpy()), expected, rtol=1e-6)


def test_bound_fails_as_rarely_as_it_says_and_is_not_wider_than_that(monkeypatch: pytest.MonkeyPatch):
    """With a failure probability of 0.3, the bound after four steps from 600 random starts."""
    monkeypatch.setattr(lanczos, "FAILURE", 0.3)
    values = torch.linspace(0.2, 1.0, 100, dtype=torch.float64)
    values[-1] = 1.3
    random = torch.Generator().manual_seed(0)
    starts = torch.nn.functional.normalize(
        torch.randn(600, 1, 100, generator=random, dtype=torch.float64), dim=2
    )
    krylov = begin(torch.diag(values).expand(600, 100, 100), None, None)
    entries = extend(replace(krylov, basis=starts), 4).entries.numpy()
    top = lanczos.top_ritz(entries)[0]
    upper = np.sqrt(top) * (1 + proven_error(entries, top, 100, 10.0))
    failed = float(np.mean(upper < 1.3))
    assert 0.2 < failed < 0.3 + 3 * np.sqrt(0.3 * 0.7 / 600)


def test_after_a_warm_start_the_error_is_called_an_estimate():
    weight = torch.randn(1, 100, 100, generator=torch.Generator().manual_seed(0))
    cold = spectral_norm(weight)
    assert cold.proven
    assert not spectral_norm(weight, start=cold.vector).proven
