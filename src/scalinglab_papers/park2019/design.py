"""The experiments of park2019 as the paper prints them: tables 1–3 and appendices E, F and I.

Time follows eqs. 16 and 17, but where table 1 prints another T0 for the rate search, T0 counts (CIFAR-10:
160k for the CNN, where eq. 16 gives 320k, and 1500k for the Wide ResNet). Levels of a search are printed in
figures only; those here are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MLP_WIDTHS = (128, 192, 256, 384, 512, 768, 1024)  # eq. 13
CNN_WIDTHS = (2, 3, 4, 6, 8, 12)  # eq. 14
WRN_WIDTHS = (2, 3, 4, 6, 8)  # eq. 15
SIZES = {"mnist": 55_000, "fashion-mnist": 55_000, "cifar10": 45_000}  # 5,000 are kept for validation
PIXELS = {"mnist": "centred", "fashion-mnist": "centred", "cifar10": "standard", "digits": "centred"}
FAMILIES: dict[str, dict[str, Any]] = {
    "1LP": {"model": "mlp", "depth": 1},
    "2LP": {"model": "mlp", "depth": 2},
    "3LP": {"model": "mlp", "depth": 3},
    "BH": {"model": "mlp", "depth": 3, "model_options": {"shape": "bottom_heavy"}},  # eq. 18
    "TH": {"model": "mlp", "depth": 3, "model_options": {"shape": "top_heavy"}},
    "CNN": {"model": "lenet"},
    "WRN": {"model": "wide_resnet", "batch_norm": False},
}
NAMES = {"mnist": "MNIST", "fashion-mnist": "F-MNIST", "cifar10": "CIFAR-10", "digits": "digits"}
BATCHES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


@dataclass(frozen=True)
class Experiment:
    """One line of a table.

    Attributes:
        dataset, family: as the paper pairs them.
        widths: w of the paper.
        rate: ε of the batch search.
        min_epochs, min_steps: E_min and T_min.
        batch, reference_rate, reference_steps: B, ε0 and T0 of the rate search; None where there is none.
        scheme: "ntk" or "standard".
        batch_norm: with it or without.
        extra: further keys of the settings.
        batches: levels of the batch search.
    """

    dataset: str
    family: str
    widths: tuple[int, ...]
    rate: float
    min_epochs: float
    min_steps: int
    batch: int | None = None
    reference_rate: float | None = None
    reference_steps: float | None = None
    scheme: str = "ntk"
    batch_norm: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    batches: tuple[int, ...] = BATCHES

    @property
    def name(self) -> str:
        """Short, for tables and legends."""
        norm = ", batch norm" if self.batch_norm else ""
        more = ", regularised" if "dropout" in self.extra else ""
        return f"{self.family} on {NAMES[self.dataset]}, {self.scheme}{norm}{more}"

    @property
    def n_data(self) -> int:
        """N_train."""
        return SIZES[self.dataset]

    def reference_time(self) -> float:
        """T0 by eq. 16 at the batch size of the rate search."""
        assert self.batch is not None
        return max(float(self.min_steps), self.min_epochs * self.n_data / self.batch)


def _table_1() -> dict[str, Experiment]:
    """NTK without batch norm: E_min, T_min, ε, B, ε0, T0 in thousands."""
    lines = {
        "mnist 1LP": (120, 80, 10, 8, 10, 825), "mnist 2LP": (120, 80, 10, 16, 10, 412.5),
        "mnist 3LP": (120, 80, 10, 16, 10, 412.5), "mnist CNN": (120, 80, 10, 24, 10, 275),
        "fashion-mnist 1LP": (240, 160, 10, 12, 10, 1100), "fashion-mnist 2LP": (240, 160, 10, 24, 10, 550),
        "fashion-mnist 3LP": (240, 160, 10, 48, 10, 275), "fashion-mnist CNN": (240, 160, 10, 96, 10, 160),
        "cifar10 CNN": (540, 320, 5, 256, 10, 160), "cifar10 WRN": (270, 80, 1, 8, 1, 1500),
    }  # fmt: skip
    return {f"{key} ntk": _line(key, *numbers) for key, numbers in lines.items()}


def _table_3() -> dict[str, Experiment]:
    """NTK with batch norm."""
    lines = {
        "mnist CNN": (120, 80, 10, 128, 10, 80), "fashion-mnist CNN": (480, 320, 10, 192, 10, 320),
        "cifar10 CNN": (540, 320, 10, 192, 10, 320), "cifar10 WRN": (270, 80, 30, 192, 30, 80),
    }  # fmt: skip
    return {f"{key} ntk bn": _line(key, *numbers, batch_norm=True) for key, numbers in lines.items()}


def _line(
    key: str, epochs: float, steps: float, rate: float, batch: int, rate0: float, steps0: float, **more: Any
) -> Experiment:
    dataset, family = key.split()
    return Experiment(
        dataset, family, widths_of(family), float(rate), epochs, int(1000 * steps), batch, float(rate0),
        1000 * steps0, **more,
    )  # fmt: skip


def widths_of(family: str) -> tuple[int, ...]:
    """Eqs. 13–15."""
    return {"CNN": CNN_WIDTHS, "WRN": WRN_WIDTHS}.get(family, MLP_WIDTHS)


def _standard() -> dict[str, Experiment]:
    """Table 2, and appendices E, F and I: batch searches in the standard scheme."""
    found = {
        f"mnist {name} standard": Experiment("mnist", name, MLP_WIDTHS, 0.02, 120, 80_000, scheme="standard")
        for name in ("1LP", "2LP", "3LP")
    }
    found["fashion-mnist CNN standard"] = Experiment(
        "fashion-mnist", "CNN", CNN_WIDTHS, 0.03, 480, 320_000, scheme="standard"
    )
    for widths, rate, epochs, steps in (((2, 3, 4), 0.0025, 540, 160_000), ((6, 8), 0.00125, 1080, 320_000)):
        found[f"cifar10 WRN standard {widths[0]}"] = Experiment(
            "cifar10", "WRN", widths, rate, epochs, steps, scheme="standard"
        )
    # the rate of appendix E is not printed; that of appendix F is
    found["cifar10 WRN standard bn"] = Experiment(
        "cifar10", "WRN", WRN_WIDTHS, 0.03, 270, 80_000, scheme="standard", batch_norm=True
    )
    found["cifar10 WRN standard regularised"] = Experiment(
        "cifar10", "WRN", WRN_WIDTHS, 0.03, 270, 80_000, scheme="standard", batch_norm=True,
        # "label smoothing with uncertainty 0.9" is read as: the true class keeps 0.9
        extra={"dropout": 0.3, "label_smoothing": 0.1, "augment": "crop_flip"},
    )  # fmt: skip
    for family in ("BH", "TH"):
        for scheme, rate in (("ntk", 10.0), ("standard", 0.02)):
            found[f"mnist {family} {scheme}"] = Experiment(
                "mnist", family, (128, 256, 512), rate, 120, 80_000, scheme=scheme
            )
    return found


TABLE_1, TABLE_3, STANDARD = _table_1(), _table_3(), _standard()
EXPERIMENTS = {**TABLE_1, **TABLE_3, **STANDARD}
