"""The demonstration's own figure: dynamical laws on handwritten digits."""

from scalinglab.papers.registry import Entry

ENTRIES = (
    Entry(
        "demo/digits",
        "error against norm at eight data sizes of real digits, and whether its exponents multiply",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.demo.digits:digits",
        laptop_minutes=1.6,
    ),
)
