"""The report: one self-contained HTML page with interactive figures, tables and a reading in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    from scalinglab.report.page import Section

__all__ = ["build", "write"]


@checked
def write(
    curves: Curves,
    path: str | Path = "report.html",
    title: str = "Learning curves",
    opening: Sequence[Section] = (),
) -> Path:
    """Write the report on these curves to one HTML file and return its path; `opening` as in `build`."""
    from scalinglab.report import page

    return page.write(build(curves, title, opening=opening), path)


@checked
def build(
    curves: Curves,
    title: str = "Learning curves",
    refresh: float | None = None,
    opening: Sequence[Section] = (),
    going: Collection[str] = (),
) -> str:
    """The report's page as text.

    Args:
        refresh: seconds after which a live page loads itself again.
        opening: sections that come first, such as the state of a sweep, in place of those of the same title.
        going: runs that have not ended: they are drawn, and no law is fitted to them.
    """
    from scalinglab.report import page, plots, sections

    if not len(curves):
        raise BadInput("there is nothing to report: these curves have no rows")
    with plots.counting(curves.data_unit):
        found = _sections(curves, going, picked=refresh is None)
    first = [section.title for section in opening]
    found = [*opening, *(section for section in found if section.title not in first)]
    return page.render(title, sections.counted(curves), found, refresh)


def _sections(curves: Curves, going: Collection[str], picked: bool) -> list[Section]:
    """What the curves show: the card and laws first, then the curves, then the runs.

    Args:
        picked: whether a reader may pick axes, which a page that loads itself again would forget.
    """
    from scalinglab.report import sections

    ended = curves.select(run=lambda run: ~run.isin([*going])) if going else curves
    found = [
        *(_laws(ended) if len(ended) else ()),
        sections.learning_curves(curves),
        sections.against_norm(curves),
        sections.pick_axes(curves) if picked else None,
        sections.runs(curves),
    ]
    return [section for section in found if section is not None]


def _laws(curves: Curves) -> Sequence[Section | None]:
    from scalinglab.answers import Answers
    from scalinglab.report import card, sections, surface_sections
    from scalinglab.report.surface_numbers import frontier

    answered = card.answered(curves)
    surface = answered.surface if isinstance(answered, Answers) else None
    best = None if surface is None else frontier(surface)
    laws: Sequence[Section | None] = surface_sections.of_runs(curves, answered, best)
    if not laws:
        laws = sections.dynamical_laws(curves) or [sections.the_law(answered)]
    return [card.section(curves, answered, best), *laws]
