"""Forms fitted to the published runs they come from: repeated data, and the step law of rate and batch."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.laws import forms, surface

DATA = Path(os.environ.get("SCALINGLAB_DATA", Path(__file__).parents[3] / "shared" / "data"))
FOLDER = DATA / "learning-curves" / "scalebench"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not FOLDER.exists(), reason=f"published runs are not at {FOLDER}; set SCALINGLAB_DATA"
    ),
]


def runs(task, *parts):
    return pd.concat([pd.read_parquet(FOLDER / f"{task}-{part}.parquet") for part in parts])


def huber(errors, delta=1e-3):
    size = np.abs(errors)
    return np.sum(np.where(size < delta, size**2 / 2, delta * (size - delta / 2)))


def test_the_fit_to_repeated_data_is_below_the_published_objective_and_flat_in_the_half_life():
    """Published: E 1.87, A 521, B 1488, α = β = 0.353, R_D 15.4, R_N 5.31 (Muennighoff et al. 2023)."""
    table = runs("data_constrained", "train", "test")
    n, d, unique, loss = (table[c].to_numpy(float) for c in ("params", "tokens", "unique_tokens", "loss"))
    published = (1.87, 521.0, 1488.0, 0.353, 0.353, 15.387756, 5.309743)
    theirs = huber(np.log(loss / forms.get("data_constrained")(np.array([n, d, unique]), *published)))

    def best(**bounds):
        found = surface.fit(
            loss=loss, form="data_constrained", tie={"beta": "alpha"}, delta=1e-3, bounds=bounds,
            n_params=n, n_data=d, n_unique=unique,
        )  # fmt: skip
        return huber(np.log(loss / found.predict(n_params=n, n_data=d, n_unique=unique)))

    ours = best(repeat_data=(30.0, 30.0))
    assert ours < 0.5 * theirs
    assert best(repeat_data=(120.0, 120.0)) < 1.1 * ours  # a factor of four in R_D costs less than a tenth
    assert best(repeat_data=(4.0, 4.0)) > 1.5 * ours


def test_the_step_law_is_recovered_from_its_published_runs():
    """Li et al. 2025: rate 1.79 N^-0.713 D^0.307, batch 0.58 D^0.571 tokens, in sequences of 2048."""
    table = runs("lr_bsz", "train").sort_values(["non_embedding_param_size", "data_size", "lr", "bsz"])
    x = [table[c].to_numpy(float) for c in ("lr", "bsz", "non_embedding_param_size", "data_size")]
    law = sl.laws.fit(
        "learning_rate_batch", tuple(v[::4] for v in x), table["lm_loss"].to_numpy()[::4], starts=3
    )
    n, d = 1e9, 1e11  # where the form quotes its optima
    found = law.parameters
    assert np.log(found["rate"] / (1.79 * n**-0.713 * d**0.307)) == pytest.approx(0, abs=0.5)
    assert np.log(found["batch"] * 2048 / (0.58 * d**0.571)) == pytest.approx(0, abs=0.5)
    assert found["rate_params"] == pytest.approx(-0.713, abs=0.25)
    assert found["rate_data"] == pytest.approx(0.307, abs=0.2)
    assert found["batch_data"] == pytest.approx(0.571, abs=0.2)
