"""The demonstration's own figure: dynamical laws on handwritten digits."""

from scalinglab.papers.registry import Entry

ENTRIES = (
    Entry(
        "demo/digits",
        "error against norm collapses for eight data sizes of real digits",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.demo.digits:digits",
    ),
)
