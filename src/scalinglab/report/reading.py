"""The results in plain language: sentences derived from the numbers."""

from __future__ import annotations

from scalinglab.laws.learning_curves.collapse import Collapse
from scalinglab.laws.learning_curves.dynamical import Dynamical
from scalinglab.results.estimate import CANNOT_TELL, FAILS, HOLDS


def of_dynamical(found: Dynamical, unit: str = "examples") -> list[str]:
    """What the dynamical laws say, one paragraph a thought; `unit` is what the data are counted in."""
    smallest, largest = found.table.iloc[0], found.table.iloc[-1]
    fewer = 1 - 2.0**-found.gamma_measured.value
    paragraphs = [
        f"From {smallest['size']:,.0f} to {largest['size']:,.0f} training {unit} the smallest test error "
        f"of the curves averaged over seeds falls from {smallest['y_optimum']:.2g} to "
        f"{largest['y_optimum']:.2g}, roughly as data^−{found.gamma_measured.value:.2f} (exponent γ): twice "
        f"the data removes {100 * fewer:.0f} % of the errors. Why two exponents: γ is the slope of a "
        "straight line through these means; the exponent of answer and fit belongs to a curve with a floor "
        "through every run, and is larger where the curve flattens.",
        f"Early in training the error falls as norm^−{found.gamma_1.value:.2f} (exponent γ₁). With more data "
        f"training follows this further: the norm at the smallest error grows as "
        f"data^{found.gamma_2.value:.2f} (exponent γ₂).",
    ]
    product = (
        "If the curves of all sizes are one shape shifted along the norm, the exponents multiply: γ = γ₁·γ₂. "
        f"The product is {found.gamma_predicted.value:.2f} ± {found.gamma_predicted.stderr:.2f}; the direct "
        "fit of error against data gives "
        f"{found.gamma_measured.value:.2f} ± {found.gamma_measured.stderr:.2f}. "
    )
    difference = found.difference("collapse")
    say = {
        HOLDS: "They agree within their uncertainty: how the network learns in time explains how it scales.",
        CANNOT_TELL: f"Their difference of {difference.value:.2g} ± {difference.stderr:.2g} may be chance, "
        f"with {len(found.table)} sizes, so whether the exponents multiply is open.",
        FAILS: "They do not agree within their uncertainty: over this range the curves are not one shape "
        "shifted along the norm, so do not carry the exponents far beyond it.",
    }
    product += say[found.verdict("collapse")]
    return [*paragraphs, product, collapse_sentence(found.collapse, unit)]


def collapse_sentence(master: Collapse, unit: str) -> str:
    """Whether rescaled curves fall on one."""
    if master.holds_from is None:
        return "The rescaled curves do not fall on one master curve: they are still changing shape with size."
    return f"Rescaled by height and position, the curves fall on one master curve {master.extent(unit)}."
