"""Forms that are found for variables that no registered form knows."""

import numpy as np
import pandas as pd
import pytest

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws import surface
from scalinglab.laws.forms import search
from tests.refusals import because

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({
    "heads": np.exp(RNG.uniform(0, 4, 120)), "depth": np.exp(RNG.uniform(0, 4, 120)),
    "warmth": np.exp(RNG.uniform(-2, 2, 120)),
})  # fmt: skip


def with_loss(truth: np.ndarray, noise: float = 1e-3) -> pd.DataFrame:
    return TABLE.assign(loss=truth * np.exp(noise * np.random.default_rng(1).standard_normal(len(TABLE))))


@pytest.mark.slow
def test_a_sum_of_powers_with_an_interaction_is_found_and_continued():
    h, d = TABLE["heads"], TABLE["depth"]

    def truth(heads, depth):
        return 2 + 3 * heads**-0.35 + 2 * depth**-0.7 + heads**0.15 * depth**-0.35

    found = surface.fit(with_loss(truth(h, d)), form="search", x=["heads", "depth"], y="loss")
    far = {"heads": 200.0, "depth": 150.0}
    assert found.predict(far) == pytest.approx(truth(200.0, 150.0), rel=0.02)
    low, high = found.interval(far)
    assert low < truth(200.0, 150.0) < high
    assert found.law.form.equation in found.summary()
    assert "heads/" in found.law.form.equation, "the units at which coefficients hold"


def test_a_valley_is_found_and_a_variable_without_effect_left_out():
    h, w = np.log(TABLE["heads"]), np.log(TABLE["warmth"])
    loss = np.exp(0.5 - 0.1 * h + 0.05 * (w - 0.3 * h) ** 2)
    found = surface.fit(with_loss(loss), x=["heads", "depth", "warmth"], y="loss")  # auto: no form knows them
    assert found.law.form.name == "search"
    assert "depth" not in found.law.form.equation
    at = {"heads": np.exp(4.5), "depth": 3.0, "warmth": 2.0}
    exact = np.exp(0.5 - 0.45 + 0.05 * (np.log(2) - 0.3 * 4.5) ** 2)
    assert found.predict(at) == pytest.approx(exact, rel=0.02)


def test_noise_alone_is_a_constant():
    found = search.found_form(("a", "b"), TABLE[["heads", "depth"]].to_numpy().T, 2 + 0.1 * RNG.random(120))
    assert len(found.parameters) <= 2


def test_shares_may_be_zero():
    shares = RNG.dirichlet(np.ones(3), 60).T
    shares[0, ::5] = 0
    shares /= shares.sum(axis=0)
    loss = 2 + 0.5 * np.exp(-2 * shares[0])
    form = search.found_form(("a", "b", "c"), shares, loss)
    assert form.zeros == ("a", "b", "c")
    law = surface.fit(loss=loss, form="search", variables=dict(zip("abc", shares, strict=True)))
    assert law.predict({"a": 0.0, "b": 0.5, "c": 0.5}) == pytest.approx(2.5, rel=0.01)


def test_what_cannot_be_searched_is_refused():
    table = with_loss(TABLE["heads"] ** -0.1)
    with pytest.raises(BadInput, match="form='search'"):
        surface.fit(table, form="search", x=["heads"], y="loss")
    with pytest.raises(NotDetermined, check=because("few_rows_to_search", rows=8)):
        surface.fit(table[:8], form="search", x=["heads", "depth"], y="loss")
    with pytest.raises(BadInput, match="below 0"):
        search.found_form(("a", "b"), -np.ones((2, 20)), np.ones(20))
