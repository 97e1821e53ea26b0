"""The published runs: where they come from, and their licence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.studies import Number

if TYPE_CHECKING:
    import pandas as pd

ORIGIN = {  # folder: what it is, licence, where it is published
    "scalebench": ("the Step Law's searches, as in Spend Less, Fit Better", "CC BY 4.0", "arXiv 2604.22753"),
    "regmix2024": ("RegMix's trainings on mixtures", "MIT", "github.com/sail-sg/regmix"),
    "mpl2025": ("losses under nine schedules", "MIT", "arXiv 2503.12811"),
    "gemstones2025": ("losses along 22 trainings", "MIT", "github.com/mcleish7/gemstone-scaling-laws"),
    "mlfoundations2024": ("losses and scores", "MIT", "github.com/mlfoundations/scaling"),
    "olmo-ladder2024": ("losses and scores of the OLMo ladder", "Apache 2.0", "arXiv 2412.04403"),
    "isoflops2026": ("isoFLOP studies of several groups", "Apache 2.0", "Open-Athena"),
}


def table(folder: str, file: str) -> pd.DataFrame:
    """One file of a folder of ``learning-curves`` under the data folders (``SCALINGLAB_DATA``)."""
    from scalinglab.data.tables import published_table

    return published_table(f"{folder}/{file}", "; ".join((*ORIGIN[folder], "--scale smoke does without")))


def share(covered: Any) -> Number:
    """The share of what is true, with the standard deviation of a beta distribution from a flat prior."""
    inside = np.asarray(covered, bool)
    n, true = len(inside), int(inside.sum())
    error = np.sqrt((true + 1) * (n - true + 1) / (n + 2) ** 2 / (n + 3))
    return Number(true / n, float(error), n)
