"""Promises of the measurements that a small change of the code would break unseen."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from torch import nn

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.measure.network_norms import lanczos
from scalinglab.measure.network_norms.reading.layers import attention_layers
from scalinglab.measure.tangent_kernel import products


@pytest.mark.parametrize(("method", "last"), [("two_nn", 2), ("neighbours", 4)])
def test_dimension_is_the_inverse_mean_of_logarithms_of_distances(method, last):
    """Means of (k − 1) ln(r_k/r_(k−1))."""
    points = np.random.default_rng(0).standard_normal((60, 3))
    r = np.sort(cdist(points, points), axis=1)[:, 1:]
    means = [np.mean((k - 1) * np.log(r[:, k - 1] / r[:, k - 2])) for k in range(2, last + 1)]
    found = sl.measure.dimension(points, method=method)
    assert found.value == pytest.approx(np.mean(1 / np.array(means)), rel=1e-9)
    assert found.n == 60


def test_attention_has_four_matrices_of_which_three_are_rows_of_one():
    for module in (nn.MultiheadAttention(8, 2, batch_first=True), nn.MultiheadAttention(8, 2)):
        shape = (2, 5, 8) if module.batch_first else (5, 2, 8)
        layers = attention_layers("a", module, shape)
        assert [layer.size for layer in layers] == [(8, 8)] * 4
        assert [layer.rows for layer in layers] == [(0, 8), (8, 16), (16, 24), None]


def test_a_report_names_constants_other_than_one():
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.ReLU(), nn.AvgPool2d(2), nn.GELU(), nn.Flatten(), nn.Linear(27, 2)
    )
    torch.manual_seed(0)
    graph = sl.measure.NormTracker(model, (1, 8, 8)).graph
    assert set(graph.constants) - {"input_1"} == {"2", "3"}
    assert graph.constants["2"][1] == pytest.approx(0.5)
    assert graph.constants["3"][1] == pytest.approx(1.129, abs=1e-3)


@pytest.mark.parametrize("most", [50, 200, 10_000])
def test_pieces_of_a_kernel_hold_at_most_so_many_numbers_and_cover_everything(most, monkeypatch):
    monkeypatch.setattr(products, "is_cheaper", lambda *_: False)
    layers = [SimpleNamespace(shape=(7, 5), bias=None), SimpleNamespace(shape=(3, 7), bias="b")]
    anatomy = SimpleNamespace(
        directions=[0, 1], layers=layers, other_parameters=["w"], parameters={"w": torch.zeros(11)}
    )  # fmt: skip
    found = products.pieces(anatomy, 4, most)
    for layer in layers:
        own = [p for p in found if isinstance(p, products.Written) and p.layer is layer]
        assert [row for p in own for row in range(p.first, p.last)] == list(range(layer.shape[0]))
        rows = max(1, most // (4 * 2 * layer.shape[1]))
        assert len(own) == math.ceil(layer.shape[0] / rows)
    rest = [p for p in found if isinstance(p, products.GenericJacobian)]
    assert [i for p in rest for i in range(p.first, p.last)] == list(range(11))
    assert len(rest) == math.ceil(11 / max(1, most // 8))
    assert sum(isinstance(p, products.Bias) for p in found) == 1


def test_the_published_definition_is_another_number_and_is_reported_as_such():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5, bias=False), nn.ReLU(), nn.Linear(5, 3, bias=False))
    first, second = (layer.weight.detach().double() for layer in (model[0], model[2]))
    spectral = [torch.linalg.matrix_norm(w, 2) for w in (first, second)]
    rows = [w.norm(dim=1).sum() for w in (first, second)]
    bartlett = spectral[0] * spectral[1] * sum((r / s) ** (2 / 3) for r, s in zip(rows, spectral)) ** 1.5
    found = {
        name: sl.measure.norms(model, (6,), name)["spectral_complexity"]
        for name in ("bartlett", "as_published")
    }
    assert found["bartlett"] == pytest.approx(float(bartlett), rel=1e-5)
    columns = second.norm(dim=0).sum()  # every layer carries those of the layers after it
    assert found["as_published"] == pytest.approx(float(spectral[1] * columns), rel=1e-5)


def test_a_reading_of_a_kernel_has_every_number_that_it_promises():
    """A linear network: its kernel is the Gram matrix of the inputs, so all is known."""
    x = torch.randn(30, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    target = (x[:, 0] + 0.3 * x[:, 1]).numpy()
    found = sl.measure.KernelReading(x, target)(nn.Linear(4, 1, bias=False, dtype=torch.float64))
    gram = (x @ x.T).numpy()
    values, vectors = np.linalg.eigh(gram)
    share = (vectors.T @ target)[::-1] ** 2 / (target @ target)
    assert found["unexplained_1"] == pytest.approx(1 - share[0], abs=1e-9)
    assert found["unexplained_10"] == pytest.approx(0, abs=1e-9), "four modes learn a linear target"
    assert found["kernel_norm"] == pytest.approx(np.linalg.norm(gram) / 30)
    assert found["kernel_drift"] == pytest.approx(0, abs=1e-9)
    aligned = target @ gram @ target / np.linalg.norm(gram) / (target @ target)
    assert found["kernel_alignment"] == pytest.approx(aligned)
    assert values[-5] == pytest.approx(0, abs=1e-9)


def test_a_warm_start_is_near_the_vector_that_it_is_given():
    weight = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    start = torch.eye(4, dtype=torch.float64)[:2]
    warm = lanczos.begin(weight, None, start).basis[:, 0]
    assert (warm * start).sum(1).min() > 0.9
    cold = lanczos.begin(weight, None, None).basis[:, 0]
    assert torch.equal(cold[0], cold[1])
    lost = lanczos.begin(weight, None, torch.full_like(start, float("nan"))).basis[:, 0]
    assert lost == pytest.approx(torch.nn.functional.normalize(cold, dim=1), abs=1e-12)


def lazy() -> nn.Module:
    return nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(3))


class Logits(nn.Module):
    """Returns its logits among other things, as the networks of Hugging Face do."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))

    def forward(self, x):
        return SimpleNamespace(logits=self.body(x), hidden=None)


def compiled():
    return torch.compile(Logits().body, backend="eager")


@pytest.mark.parametrize("make", [lazy, pytest.param(compiled, marks=pytest.mark.slow), Logits])
def test_a_network_is_measured_however_it_is_wrapped(make):
    x, y = torch.randn(7, 6, generator=torch.Generator().manual_seed(0)), torch.arange(7) % 3
    torch.manual_seed(0)
    plain = Logits().body
    for measured in (
        lambda model: sl.measure.ntk(model, x),
        lambda model: sl.measure.margins(model, x, y).normalized,
        lambda model: sl.measure.gradient_noise(model, x, y).trace,
    ):
        torch.manual_seed(0)  # lazy layers draw their weights when they are called first
        np.testing.assert_allclose(measured(make()), measured(plain), rtol=1e-6)


def test_outputs_that_hold_no_logits_are_refused_by_name():
    class Pair(Logits):
        def forward(self, x):
            return self.body(x), None

    x, y = torch.ones(4, 6), torch.arange(4) % 3
    for measured in (
        sl.measure.margins,
        sl.measure.gradient_noise,
        lambda model, x, y: sl.measure.ntk(model, x),
    ):
        with pytest.raises(BadInput, match="returns a tuple"):
            measured(Pair(), x, y)
