"""Curves: one tidy table of learning curves, one row a run and checkpoint.

Theories, simulations, training runs and readers of logs all write this table; laws, figures and reports
read it. A column has one of five roles:

- identity: `run` (hash of the setting), `source`, `experiment`;
- setting, constant in a run: `model`, `n_data`, `width`, `learning_rate`, every seed, …;
- progress: `step`, `epoch`, `examples`, `compute` (FLOPs), `time`;
- measurement: `test_error` (a fraction, never percent), `test_loss`, `norm`, `norm_*`, …;
- outcome: `status`, and `diverged_at`, the progress at which a run diverged.

Missing values are null. A run that diverged keeps its rows and the step (`diverged_at`).
"""

from __future__ import annotations

from scalinglab.curves.columns import (
    IDENTITY,
    OUTCOME,
    PROGRESS,
    SETTING,
    SOURCES,
    is_seed,
    plain,
    rename,
    run_name,
)
from scalinglab.curves.files import json_line
from scalinglab.curves.table import Curves

__all__ = [
    "IDENTITY", "OUTCOME", "PROGRESS", "SETTING", "SOURCES",
    "Curves", "is_seed", "json_line", "plain", "rename", "run_name",
]  # fmt: skip
