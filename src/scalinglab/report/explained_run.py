"""The report on one run beside its theory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scalinglab.report.page import Plot, Section
from scalinglab.report.plots import canvas, finish, legend_above, line, points

if TYPE_CHECKING:
    from scalinglab.explanations import Explanation


def section(found: Explanation) -> Section:
    """Measured points over the solved curve, and what they say, for a report's opening."""
    figure = canvas("step", "test loss")
    points(figure, found.steps, found.measured)
    good = np.isfinite(found.theory)
    if good.any():
        line(figure, found.steps[good], found.theory[good], "solved from the initial kernel")
        if found.redrawn is not None:
            line(figure, found.steps, found.redrawn, "descent with the kernel on other draws", dash="dot")
        if found.trained_features is not None:
            line(figure, found.steps, found.trained_features, "solved with trained features", dash="dash")
    caption = "Measured test loss and the loss solved from the network's kernel before training."
    plots = [Plot(finish(legend_above(figure)), caption)]
    table = ("Measured and solved loss", found.table())
    return Section("Where is this run?", found.summary().split("\n"), plots, [table])
