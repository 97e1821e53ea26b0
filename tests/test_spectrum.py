"""The spectrum and its compression, against sums over every mode."""

import mpmath
import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput


def resolvents(spectrum, angle=2.74):
    """Sums with poles 0.4 rad from the spectrum, over all modes and over the nodes."""
    kappa = (np.geomspace(1e-8, 10, 15) * np.exp(1j * angle))[:, None]
    full = spectrum.eigenvalues, 1.0, spectrum.target_power
    nodes = spectrum.nodes()
    for values, count, power in (full, (nodes.eigenvalues, nodes.count, nodes.power)):
        yield np.stack(
            [(count * values / (kappa + values)).sum(-1), (power * kappa**2 / (kappa + values) ** 2).sum(-1)]
        )


@pytest.mark.parametrize(("a", "b", "n_modes"), [(1.5, 1.25, 10_000), (2.2, 0.6, 100_000), (1.2, 3.0, 3000)])
def test_nodes_of_a_power_law_give_the_sums_over_all_modes(a, b, n_modes):
    spectrum = sl.Spectrum.power_law(a, b, n_modes)
    exact, compressed = resolvents(spectrum)
    np.testing.assert_allclose(compressed, exact, rtol=1e-12)
    assert len(spectrum.nodes()) < 500


def test_nodes_of_a_measured_spectrum_give_the_sums_over_all_modes():
    rng = np.random.default_rng(0)
    eigenvalues = np.exp(rng.uniform(-15, 2, 5000))  # unsorted, with gaps
    eigenvalues[:200] = 0.5  # degenerate
    power = rng.exponential(size=5000) * eigenvalues * (rng.random(5000) < 0.7)
    spectrum = sl.Spectrum(eigenvalues, power)
    exact, compressed = resolvents(spectrum)
    np.testing.assert_allclose(compressed, exact, rtol=1e-12)
    assert len(spectrum.nodes()) < 1200


def test_a_billion_modes_sum_to_zeta_and_build_no_array():
    spectrum = sl.Spectrum.power_law(1.5, 1.25, n_modes=10**9)
    assert len(spectrum.nodes()) < 1000
    for exponent, total in ((1.5, spectrum.total_power), (1.25, spectrum.trace)):
        exact = mpmath.zeta(exponent) - mpmath.zeta(exponent, 10**9 + 1)
        assert total == pytest.approx(float(exact), rel=1e-13)
    assert spectrum.mode(10**9) == pytest.approx((1e9**-1.25, 1e9**-1.5))
    with pytest.raises(BadInput, match="n_modes = 1000000000"):
        _ = spectrum.eigenvalues


def test_a_short_spectrum_keeps_every_mode():
    spectrum = sl.Spectrum([0.5, 2.0], [1.0, 3.0])
    assert sorted(spectrum.nodes().eigenvalues) == [0.5, 2.0]
    assert spectrum.mode(2) == (2.0, 3.0)


@pytest.mark.parametrize(
    ("eigenvalues", "power", "message"),
    [
        ([1.0, 0.0], [1.0, 1.0], r"eigenvalues\[1\] = 0.0"),
        ([1.0, np.nan], [1.0, 1.0], r"eigenvalues\[1\] = nan"),
        ([1.0, 1.0], [-1.0, 1.0], r"target_power\[0\] = -1.0"),
        ([1.0], [1.0, 1.0], "equal length"),
        ([], [], "not empty"),
    ],
)
def test_a_bad_spectrum_is_refused_by_name(eigenvalues, power, message):
    with pytest.raises(BadInput, match=message):
        sl.Spectrum(eigenvalues, power)


@pytest.mark.parametrize("bad", [{"task_exponent": 0}, {"spectral_exponent": np.nan}, {"n_modes": 1.5}])
def test_a_bad_power_law_is_refused_by_name(bad):
    with pytest.raises(BadInput, match=next(iter(bad))):
        sl.Spectrum.power_law(**bad)
