"""The published curves of damico2025: where they are, and how the authors' files are read.

An analysis file has the curves of one pair of model and data set: one pickled dictionary. Read here are

- ``P_arr`` (P,): training sizes,
- ``log_x_grid`` (x,): norms, equally spaced in their logarithm, the same for all sizes,
- ``mean_val_error_arr`` (P, x): test error, averaged over seeds; NaN at norms that no run of a size reaches,
- ``seed_arr``: the seeds.

A pickle can run any code when it is loaded, so it is never loaded: `pickled_arrays` reads what it holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib import format as npy

from scalinglab.data.tables import TableSet
from scalinglab.errors import BadInput
from scalinglab_papers import pickled_arrays

NEEDED = ("P_arr", "log_x_grid", "mean_val_error_arr", "seed_arr")
PERCENT = 0.01


def read_arrays(path: Path) -> pd.DataFrame:
    """The curves of a pair, one row a size and norm: model, dataset, n_data, norm, test_error, n_seeds.

    Args:
        path: such as ``CNN_CIFAR10.npy``; model and data set are taken from the name.

    Raises:
        BadInput: not such a file, or one with anything but arrays in it.
    """
    model, _, dataset = path.stem.partition("_")
    arrays = _dictionary(path)
    missing = [name for name in NEEDED if name not in arrays]
    if missing:
        raise BadInput(f"{path} is no analysis file of damico2025: it lacks {', '.join(missing)}")
    sizes, norms, errors = (np.asarray(arrays[name], float) for name in NEEDED[:3])
    if errors.shape != (len(sizes), len(norms)):
        raise BadInput(
            f"{path}: {NEEDED[2]} has shape {errors.shape}, expected sizes × norms: "
            f"{(len(sizes), len(norms))}"
        )
    if np.nanmax(errors) > 1:
        errors = PERCENT * errors
    row, column = np.nonzero(np.isfinite(errors))
    return pd.DataFrame(
        {
            "model": model, "dataset": dataset, "n_data": sizes[row].astype(int), "norm": norms[column],
            "test_error": errors[row, column], "n_seeds": len(np.atleast_1d(arrays["seed_arr"])),
        }
    )  # fmt: skip


def _dictionary(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            version = npy.read_magic(file)
            header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            if not header(file)[2].hasobject:
                raise BadInput(f"{path} holds a plain array, not a dictionary of them")
            arrays = pickled_arrays.read(file)
    except (ValueError, EOFError, LookupError, AttributeError, TypeError) as error:
        raise BadInput(f"{path} is no NumPy file with a dictionary of arrays: {error}") from error
    arrays = arrays.item() if isinstance(arrays, np.ndarray) and arrays.size == 1 else arrays
    if not isinstance(arrays, dict):
        raise BadInput(f"{path} holds {type(arrays).__name__}, not a dictionary of arrays")
    return arrays


CURVES = TableSet(
    name="damico2025-curves",
    version="september",
    title="test error against norm, averaged over seeds, of the pairs of damico2025 (September 2025)",
    folder="damico2025",
    pairs={
        "CNN_CIFAR10": "230fd4b875809c8fe53b41ee1270f0cc",
        "CNN_CIFAR100": "",
        "CNN_MNIST": "d3cbcbef4ea103fbad420aab4f1e91ef",
        "ResNet_CIFAR10": "ecf8204e68101f152cc2b8caac323073",
        "ResNet_CIFAR100": "",
        "ResNet_MNIST": "db3aa00169d49ad59f3498b75786e522",
        "ViT_CIFAR10": "",
        "ViT_CIFAR100": "a49cd9c3feec6f2d601169ebd24dcc1c",
        "ViT_MNIST": "",
    },
    address="https://github.com/Francill99/deep_norm (folder analysis/)",
    raw="https://raw.githubusercontent.com/Francill99/deep_norm/{commit}/analysis/{pair}.npy",
    commits=(
        "147e9e0b67997f2f2bedbc161ab1fb9d29f48676",
        "132d7105cebcbdf045efebc4974aa97618926150",
        "119f35366c4f014e2d517f77f907af7856b10d6f",
    ),
    licence="none stated; cite D'Amico, Bocchi, Negri (2025)",
    columns=("model", "dataset", "n_data", "norm", "test_error", "n_seeds"),
    read=read_arrays,
)
# to which the printed Tables 1 and 2 belong; in September five pairs were trained anew
MAY_CURVES = replace(
    CURVES,
    version="may",
    title=CURVES.title.replace("September 2025", "May 2025, of the printed tables"),
    folder="damico2025-may",
    pairs=dict.fromkeys(CURVES.pairs, "")
    | {
        "CNN_CIFAR10": "7dc496f21876a143eab5d4eb50e59db3",
        "CNN_MNIST": "93fc6f77443b2f0a8b21463f0f9cc7c0",
        "ResNet_CIFAR10": "d41a5b5e00e9f5304ee829575f820833",
        "ResNet_MNIST": "510b08325c192fb65446a364b21a14f8",
        "ViT_CIFAR100": "f48ddc910fe06fb87fe1f8cb286060b2",
    },
    commits=("8ae83b4",),
)
# norm and error of curves of which the files are not at hand, September's, at one size
POINTS_SIZE = 6000
POINTS = {
    "ViT MNIST": tuple(
        (math.exp(log), error) for log, error in ((11.5, 0.590), (17.7, 0.224), (23.9, 0.093), (30.1, 0.049))
    ),
    "ResNet CIFAR100": (
        (249.0, 0.978), (963.0, 0.946), (2400.0, 0.883), (3700.0, 0.836), (5900.0, 0.797), (9200.0, 0.770),
    ),
}  # fmt: skip
TABLES = {CURVES.name: CURVES, f"{CURVES.name}-may": MAY_CURVES}


# --- the authors' own analysis ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Windows:
    """The windows in which the authors' notebooks fit a pair.

    Attributes:
        first_size: of those whose slopes are averaged for γ₁, counted from 1.
        low, high: of norm / norm at the minimum, where a slope is fitted.
        all_optima: γ₂ is fitted to the optima of all sizes, and not from `first_size` on.
    """

    first_size: int
    low: float
    high: float
    all_optima: bool = False


MAY_WINDOWS = {
    "CNN MNIST": Windows(10, 0.0, 2e-2, all_optima=True),
    "CNN CIFAR10": Windows(7, 0.0, 0.3),
    "CNN CIFAR100": Windows(7, 0.0, 0.3),
    "ResNet MNIST": Windows(5, 8e-2, 0.3),
    "ResNet CIFAR10": Windows(3, 1e-3, 9e-3, all_optima=True),
    "ResNet CIFAR100": Windows(5, 1e-3, 1e-2, all_optima=True),
    "ViT MNIST": Windows(10, 0.0, 1e-25),
    "ViT CIFAR10": Windows(4, 0.0, 1e-20, all_optima=True),
    "ViT CIFAR100": Windows(5, 0.0, 1e-16, all_optima=True),
}
WINDOWS = {
    MAY_CURVES.version: MAY_WINDOWS,
    CURVES.version: MAY_WINDOWS
    | {
        "CNN MNIST": Windows(7, 1e-3, 1e-2),
        "ResNet CIFAR10": Windows(2, 1.5e-3, 4e-3),
        "ResNet CIFAR100": Windows(5, 1e-3, 4e-3),
        "ViT CIFAR10": Windows(5, 1e-30, 1e-16),
        "ViT CIFAR100": Windows(6, 1e-32, 1.5e-20),
    },
}


def authors_exponents(table: pd.DataFrame, windows: Windows) -> tuple[float, float]:
    """γ₁ and γ₂ as the authors' notebooks compute them from mean curves.

    γ₁: the mean over sizes of the slopes of −ln(error) against ln(norm) in the window. γ₂: the slope of
    ln(norm at the minimum) against ln P.

    Args:
        table: columns `n_data`, `norm`, `test_error`.
    """
    sizes, optima, slopes = [], [], []
    for count, (size, curve) in enumerate(table.sort_values("norm").groupby("n_data"), start=1):
        norm, error = curve["norm"].to_numpy(float), curve["test_error"].to_numpy(float)
        best = norm[np.argmin(error)]
        sizes.append(size)
        optima.append(best)
        inside = (norm >= windows.low * best) & (norm <= windows.high * best)
        if count >= windows.first_size and inside.sum() > 1:
            slopes.append(-np.polyfit(np.log(norm[inside]), np.log(error[inside]), 1)[0])
    kept = slice(None) if windows.all_optima else slice(windows.first_size - 1, None)
    gamma_2 = np.polyfit(np.log(sizes[kept]), np.log(optima[kept]), 1)[0]
    return float(np.mean(slopes)), float(gamma_2)
