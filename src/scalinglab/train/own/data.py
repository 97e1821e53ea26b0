"""Data of the user's own, loaded once for all runs that name them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from scalinglab.curves import run_name
from scalinglab.data.dataset import Dataset
from scalinglab.data.given import as_dataset
from scalinglab.errors import BadInput
from scalinglab.train.own.references import call

MOST = 8  # sets that stay in memory
_LOADED: OrderedDict[str, Dataset] = OrderedDict()


def own_data(name: str, stamp: str | None, options: Mapping[str, Any], found: Callable[[], Any]) -> Dataset:
    """The data that a setting names; a function is called with `data_options`, once.

    Args:
        name: in the setting.
        stamp: what stands for the code: its fingerprint or version.
        options: `data_options`.
        found: gives the function, or the data themselves.
    """
    key = run_name({"name": name, "stamp": stamp, "options": dict(options)})
    if key not in _LOADED:
        while len(_LOADED) >= MOST:
            _LOADED.popitem(last=False)
        _LOADED[key] = as_dataset(_made(name, options, found()), name)
    return _LOADED[key]


def _made(name: str, options: Mapping[str, Any], found: Any) -> Any:
    if not callable(found):
        if options:
            raise BadInput("data_options are for a function that makes data; these are there already")
        return found
    what = f"dataset = {name!r} with data_options"
    try:
        return call(found, options, what, must=options, whole=False)
    except TypeError as error:
        raise BadInput(f"{what} = {dict(options)}: {error}") from error
