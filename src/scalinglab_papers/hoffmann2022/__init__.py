"""Hoffmann et al. 2022: the parametric fit of Chinchilla, as refitted by others."""

from scalinglab.studies import Entry, listed

ENTRIES = listed(
    __name__,
    Entry("refit", "the parametric loss surface refitted to the 240 digitised points",
          make="refit:refit", laptop_minutes=0.39),
)  # fmt: skip
