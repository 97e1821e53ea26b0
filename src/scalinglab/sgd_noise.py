"""The noise that hyperparameters give to stochastic gradient descent, and the width it is counted in.

park2019 eqs. 2–5: with learning rate ε, batch size B, momentum m and N_train examples

    g = ε N_train / (B (1 − m)),      ḡ = g w / σ0² (standard),      ḡ = g / σ0² (NTK),

w the widening factor of the paper and σ0² the common variance of the weights. The paper's w is not the
`width` of a setting, which multiplies the base of a family; `widening_factor` is the one place where the two
are converted:

| family | w of the paper | our `width` |
| --- | --- | --- |
| mlp | units of a hidden layer, 128 … 1024 | units / 128 (or over `hidden`) |
| lenet | 2 is LeNet-5 | the same number |
| wide_resnet | k of WRN-d-k | the same number |
| others | not in the paper | the factor on the family's base |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput, nearest
from scalinglab.support.validation import checked

MLP_UNITS = 128  # units of a hidden layer of an mlp at width 1
WEIGHT_VARIANCE = {"critical": 2.0, "torch": 1 / 3}  # σ0² by initialization, where all layers share one
SCHEMES = ("standard", "ntk")
OPTIMIZERS = ("sgd", "nesterov")
COLUMNS = ("noise_scale", "normalized_noise_scale", "widening_factor")


@checked
def noise_scale(
    learning_rate: ArrayLike, batch_size: ArrayLike, n_data: ArrayLike, momentum: ArrayLike = 0.0
) -> Any:
    """g of park2019 eqs. 2 and 3, in units of weight²/loss; broadcasts over arrays.

    >>> noise_scale(0.5, 32, 3200, momentum=0.75)
    200.0
    """
    rate, batch, data, m = (np.asarray(v, dtype=float) for v in (learning_rate, batch_size, n_data, momentum))
    for name, value, allowed in (
        ("learning_rate", rate, rate > 0),
        ("batch_size", batch, batch > 0),
        ("n_data", data, data > 0),
        ("momentum", m, (m >= 0) & (m < 1)),
    ):
        if not np.all(allowed):
            rule = "must lie in [0, 1)" if name == "momentum" else "must be positive"
            raise BadInput(f"{name} = {value}: {rule}")
    scale = rate * data / (batch * (1 - m))
    return float(scale) if scale.ndim == 0 else scale


@checked
def normalized_noise_scale(
    learning_rate: ArrayLike,
    batch_size: ArrayLike,
    n_data: ArrayLike,
    momentum: ArrayLike = 0.0,
    width: ArrayLike = 1.0,
    parameterization: str = "standard",
    weight_variance: float = 2.0,
) -> Any:
    """ḡ of park2019 eqs. 4 and 5, in units of 1/loss; broadcasts over arrays.

    Args:
        learning_rate: ε.
        batch_size: B.
        n_data: N_train.
        momentum: m.
        width: Widening factor w of the paper, see `widening_factor` (counts in the standard scheme alone).
        parameterization: "standard" or "ntk".
        weight_variance: σ0².
    """
    if parameterization not in SCHEMES:
        raise BadInput(
            f"the normalized noise scale is not defined for parameterization {parameterization!r}: "
            f"{nearest(parameterization, SCHEMES)}"
        )
    factor = np.asarray(width, dtype=float) if parameterization == "standard" else 1.0
    scale = noise_scale(learning_rate, batch_size, n_data, momentum) * factor / weight_variance
    return float(scale) if np.ndim(scale) == 0 else scale


def widening_factor(model: str, width: float, hidden: int = MLP_UNITS) -> float:
    """The paper's w of a network of this family at our `width`.

    >>> widening_factor("mlp", 4), widening_factor("lenet", 4)
    (512.0, 4.0)
    """
    return float(max(1, round(hidden * width))) if model == "mlp" else float(width)


def columns(setting: Mapping[str, Any]) -> dict[str, float]:
    """g, ḡ and w of a run, from its setting; without what is not defined.

    g is that of SGD with or without momentum on batches: neither Adam nor full-batch descent has one. ḡ needs
    one σ0² for all layers and the standard or the NTK scheme. For networks with batch norm both are what the
    formulas give, although the theory behind them does not hold there (park2019, section 2.2).

    >>> own = {"model": "mlp", "width": 2, "optimizer": "nesterov", "momentum": 0.5, "learning_rate": 10.0}
    >>> columns({**own, "batch_size": 50, "n_data": 1000, "parameterization": "ntk"})
    {'widening_factor': 256.0, 'noise_scale': 400.0, 'normalized_noise_scale': 200.0}
    """
    known = {name: value for name, value in setting.items() if not _missing(value)}
    found = {}
    if "model" in known and "width" in known:
        hidden = _options(known.get("model_options")).get("hidden", MLP_UNITS)
        found["widening_factor"] = widening_factor(known["model"], known["width"], hidden)
    needed = ("learning_rate", "batch_size", "n_data")
    if known.get("optimizer", "sgd") not in OPTIMIZERS or not all(name in known for name in needed):
        return found
    batch = min(known["batch_size"], known["n_data"])
    common = (known["learning_rate"], batch, known["n_data"], known.get("momentum", 0.0))
    found["noise_scale"] = noise_scale(*common)
    scheme = known.get("parameterization")
    variance = WEIGHT_VARIANCE.get(known.get("initialization", "critical"))
    w = found.get("widening_factor", known.get("width"))  # a table without a family: its own units of width
    if scheme in SCHEMES and variance and (scheme == "ntk" or w is not None):
        found["normalized_noise_scale"] = normalized_noise_scale(
            *common, 1.0 if w is None else w, scheme, variance
        )
    return found


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _options(given: Any) -> Mapping[str, Any]:
    """A family's own options, also as the JSON text that a table has."""
    if isinstance(given, str):
        given = json.loads(given)
    return given if isinstance(given, Mapping) else {}
