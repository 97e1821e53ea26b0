"""The results in plain language: sentences derived from the numbers."""

from __future__ import annotations

from scalinglab.laws.learning_curves.collapse import Collapse
from scalinglab.laws.learning_curves.dynamical import Dynamical


def of_dynamical(found: Dynamical) -> list[str]:
    """What the dynamical laws say, one paragraph a thought."""
    smallest, largest = found.table.iloc[0], found.table.iloc[-1]
    fewer = 1 - 2.0**-found.gamma_measured.value
    paragraphs = [
        f"From {smallest['size']:,.0f} to {largest['size']:,.0f} training examples the best test error falls "
        f"from {smallest['y_optimum']:.2g} to {largest['y_optimum']:.2g}, about as the power "
        f"−{found.gamma_measured.value:.2f} of the data: twice the data removes {100 * fewer:.0f} % of the "
        "errors.",
        f"Early in training the error falls as the power −{found.gamma_1.value:.2f} of the norm, "
        "with nearly the same curve for every size. More data lets training follow it further: the norm at "
        f"which the error is smallest grows as the power {found.gamma_2.value:.2f} of the data.",
    ]
    product = (
        f"The two together predict an exponent of {found.gamma_predicted.value:.2f} ± "
        f"{found.gamma_predicted.stderr:.2f} for error against data; the direct fit gives "
        f"{found.gamma_measured.value:.2f} ± {found.gamma_measured.stderr:.2f}. "
    )
    if found.agrees:
        product += (
            "They agree within their uncertainty: how the network learns in time explains how it scales."
        )
    else:
        product += (
            "They do not agree within their uncertainty: on this range the curves are not one shape shifted "
            "along the norm, so the exponents should not be carried far beyond it."
        )
    paragraphs.append(product)
    paragraphs.append(_collapse(found.collapse))
    return paragraphs


def _collapse(master: Collapse) -> str:
    if master.holds_from is None:
        return "The rescaled curves do not fall on one master curve: they are still changing shape with size."
    return (
        f"Rescaled by height and position, the curves fall on one master curve {master.extent('examples')}."
    )
