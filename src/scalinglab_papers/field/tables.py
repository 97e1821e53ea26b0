"""The published runs: where they come from, their licence, and where they are looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalinglab.data.sources import search_path
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

ORIGIN = {  # folder: what it is, licence, where it is published
    "scalebench": ("the Step Law's searches, as in Spend Less, Fit Better", "CC BY 4.0", "arXiv 2604.22753"),
    "regmix2024": ("RegMix's trainings on mixtures", "MIT", "github.com/sail-sg/regmix"),
}


def table(folder: str, file: str) -> pd.DataFrame:
    """One file of a folder of ``learning-curves`` under the data folders (``SCALINGLAB_DATA``)."""
    import pandas as pd

    for place in search_path():
        path = place / "learning-curves" / folder / file
        if path.exists():
            return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    what, licence, published = ORIGIN[folder]
    raise BadInput(
        f"{folder}/{file} is not at hand ({what}; {licence}; {published}): put it into "
        f"learning-curves/{folder}/ of the folder that SCALINGLAB_DATA names, or use --scale smoke"
    )
