"""scalinglab: measure, explain and predict neural scaling laws.

Whatever makes learning curves (a theory, a simulation, a training run, existing logs) writes one
table, `Curves`; whatever fits, draws or plans reads it. Names are loaded when they are first used, so
that ``import scalinglab`` stays fast and needs neither pandas nor torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scalinglab._version import __version__ as __version__
from scalinglab.results.notebook import draw_with
from scalinglab.support.lazy import lazily

if TYPE_CHECKING:
    from scalinglab import (
        board,
        data,
        figures,
        laws,
        measure,
        nets,
        readers,
        report,
        simulate,
        studies,
        sweep,
        theory,
        train,
    )
    from scalinglab.answers import answer, fit, predict
    from scalinglab.answers.doubts import audit
    from scalinglab.curves import Curves
    from scalinglab.explanations import explain
    from scalinglab.readers import read
    from scalinglab.spectrum import Spectrum
    from scalinglab.store import Store
    from scalinglab.sweep.grid import grid
    from scalinglab.train.tracker import Tracker

__all__ = [
    "Curves", "Spectrum", "Store", "Tracker", "answer", "audit", "board", "data", "explain", "figures", "fit",
    "grid", "laws", "measure", "nets", "predict", "read", "readers", "report", "simulate",
    "studies", "sweep", "theory", "train",
]  # fmt: skip

_PACKAGES = (
    "board", "data", "figures", "laws", "measure", "nets",
    "readers", "report", "simulate", "studies", "sweep", "theory", "train",
)  # fmt: skip
__getattr__, _names = lazily(
    __name__,
    {
        "Curves": "curves", "Spectrum": "spectrum", "Store": "store", "Tracker": "train.tracker",
        "answer": "answers", "audit": "answers.doubts",
        "explain": "explanations", "fit": "answers", "grid": "sweep.grid",
        "predict": "answers", "read": "readers",
    },
    modules={name: name for name in _PACKAGES},
)  # fmt: skip


def _draw(result: Any, axes: Any = None, **options: Any) -> Any:
    """What ``result.plot()`` calls; matplotlib is loaded by the first drawing."""
    from scalinglab.figures.results import draw

    return draw(result, axes, **options)


draw_with(_draw)


def __dir__() -> list[str]:
    return ["__version__", *_names()]
