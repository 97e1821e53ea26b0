"""The refit of Chinchilla's surface."""

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab_papers.hoffmann2022 import refit


@pytest.mark.slow
def test_smoke_refit_finds_the_surface_it_was_drawn_from():
    made = refit.refit("smoke")
    assert len(made.table) == 3
    assert all(abs(row.sigmas) < 3 for row in made.table)
    assert made.figure is not None
    assert np.allclose(made.curves["fitted_loss"], made.curves["test_loss"], rtol=0.03)


def test_missing_points_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path):
    for name in ("SCALINGLAB_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(BadInput, match=r"hoffmann2022/chinchilla.csv.*SCALINGLAB_DATA"):
        refit.refit("laptop")
