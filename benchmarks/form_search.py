"""Forms that are searched for tables whose variables no registered form knows, and how well they continue.

    SCALINGLAB_DATA=… python benchmarks/form_search.py

The four tables of "Spend Less, Fit Better" (2026): the form is searched and fitted on the pool of runs, and
predicts the costly target region; R² over all its values, clipped at -1. The bar is 0.517, what human laws
reach on average over tables of this kind. Kept apart, since the grammar was not looked at on them: runs of
published studies, of which those of less compute predict what is more than a fifth of the largest; n_params
and n_data count as two unknown columns.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pandas as pd
from next_run import TASKS, groups
from surfaces import public_runs

import scalinglab as sl
from scalinglab.laws.forms.search import found_form

Part = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # x, y, x asked, y asked; x (variables, n)


def published() -> Iterator[tuple[str, tuple[str, ...], list[Part]]]:
    """(name, variables, parts) of the four tables."""
    for task in TASKS.values():
        parts = [
            (group.x.T, measured, group.target.T, truth)
            for group in groups(task)
            for measured, truth in zip(group.y.T, group.truth.T, strict=True)
        ]
        yield task.name, tuple(task.columns), parts


def apart() -> Iterator[tuple[str, tuple[str, ...], list[Part]]]:
    """(name, variables, parts) of runs that were kept apart."""
    for name, (n, d, loss) in public_runs():
        late = n * d > np.max(n * d) / 5
        if (~late).sum() >= 40 and late.sum() >= 5:
            x = np.array([n, d])
            yield name, ("n", "d"), [(x[:, ~late], loss[~late], x[:, late], loss[late])]


def judged(names: tuple[str, ...], parts: list[Part]) -> tuple[float, str]:
    """R², clipped, and the equation of the first part."""
    predicted, equations = [], []
    for x, y, asked, _ in parts:
        form = found_form(names, x, y)
        law = sl.laws.fit(form, tuple(x), y, space="log" if y.min() > 0 else "raw")
        predicted.append(law.at(tuple(asked)))
        equations.append(form.equation)
    truth, values = np.concatenate([part[3] for part in parts]), np.concatenate(predicted)
    score = 1 - np.sum((truth - values) ** 2) / np.sum((truth - truth.mean()) ** 2)
    return float(np.clip(score, -1, 1)), equations[0]


def main() -> None:
    """Print both tables."""
    for title, tables in (("published tables", published()), ("kept apart", apart())):
        rows = []
        for name, variables, parts in tables:
            start = time.process_time()
            score, equation = judged(variables, parts)
            seconds = time.process_time() - start
            fits = f"{len(parts)} fits in {seconds:.1f} s of CPU"
            print(f"{name:<46} R² {score:6.3f}  {fits}: {equation}", flush=True)
            rows.append(score)
        print(f"{title}: mean R² {pd.Series(rows).mean():.3f}\n", flush=True)


if __name__ == "__main__":
    main()
