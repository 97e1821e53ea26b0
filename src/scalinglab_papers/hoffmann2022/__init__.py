"""Hoffmann et al. 2022: the parametric fit of Chinchilla, as refitted by others."""

from scalinglab.studies.registry import Entry

ENTRIES = (
    Entry(
        "hoffmann2022/refit",
        "the parametric loss surface refitted to the 240 digitised points",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.hoffmann2022.refit:refit",
        laptop_minutes=0.39,
    ),
)
