"""Names in settings for what is the user's own: "mine:Mixer", or an object that was given.

A setting holds text, so that it can be stored, hashed and sent to a worker. An object is kept here under a
name, "module:name", and the setting keeps the fingerprint of its code under `code`. Two runs are the same
only if both agree.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from scalinglab.curves import run_name
from scalinglab.data.dataset import Dataset
from scalinglab.data.given import as_dataset
from scalinglab.errors import BadInput, nearest
from scalinglab.support import extensions
from scalinglab.support.words import counted
from scalinglab.train.own.fingerprint import NoFingerprint, fingerprint, is_installed

if TYPE_CHECKING:
    from scalinglab.store import Store

# keys of a setting that can name something of the user's own
KEYS = ("model", "dataset", "optimizer", "loss", "schedule", "metrics")
WHOLE = ("s", "setting", "settings", "config", "cfg")  # parameters that get the whole setting
DATA = "given:data"  # the name of arrays, which have none
_GIVEN: dict[tuple[str, str], Any] = {}  # by name and fingerprint or version


class ChangedWarning(UserWarning):
    """Code that runs in the store were trained with is no longer what it was."""


def is_own(name: str) -> bool:
    """Whether a name in a setting is that of something of the user's own."""
    return ":" in name


def metric_names(value: Any) -> dict[str, Any]:
    """Metrics by the columns they fill: of a mapping, one function or name, or several."""
    if isinstance(value, Mapping):
        return dict(value)
    several = value if isinstance(value, (list, tuple)) else [value]
    names = [_name("metrics", one).removesuffix("(…)") for one in several]
    return {name.rpartition(":")[2].rpartition(".")[2]: one for name, one in zip(names, several)}


def _name(key: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if key == "dataset" and not callable(value):
        return f"given:{value.name}" if isinstance(value, Dataset) else DATA
    found = value if hasattr(value, "__qualname__") else type(value)
    if isinstance(value, functools.partial):
        return f"{_name(key, value.func)}(…)"  # what it stands for is not the function itself
    return f"{found.__module__}:{found.__qualname__}".replace("<locals>.", "").replace("<lambda>", "lambda")


def taken_in(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace objects in a setting by names, and add the fingerprints of the user's code.

    Fingerprints that the setting has already must agree with the code here.
    """
    found = dict(values)
    version, recorded = found.get("version"), dict(found.get("code") or {})
    code: dict[str, str] = {}
    for key in KEYS:
        if found.get(key) is None:
            continue
        if key == "metrics":
            metrics = metric_names(found[key])
            found[key] = {column: _taken(f"{key}.{column}", key, one, version, recorded, code)
                          for column, one in metrics.items()}  # fmt: skip
        else:
            found[key] = _taken(key, key, found[key], version, recorded, code)
    if code:
        found["code"] = code
    return found


def _taken(
    place: str, key: str, value: Any, version: str | None, recorded: Mapping[str, str], code: dict[str, str]
) -> str:
    """The name of a value; its fingerprint is added to `code` where the user can change it."""
    name = _name(key, value)
    given = not isinstance(value, str)
    if not isinstance(value, type) and (hasattr(value, "param_groups") or hasattr(value, "get_last_lr")):
        kind = type(value).__name__
        way = f"the class {kind}, and learning_rate in the settings"
        if key == "schedule":
            way = f"a function that makes one: lambda optimizer, steps: {kind}(optimizer, …)"
        raise BadInput(f"{key}: this {kind} was made for other parameters than those of the runs; give {way}")
    if given and key == "dataset" and not callable(value):
        value = as_dataset(value, name)
    if not given and not is_own(name):
        return name
    if version is not None:
        if given:
            _GIVEN[name, str(version)] = value
        return name
    if not given and (name, recorded.get(place, "")) in _GIVEN:
        code[place] = recorded[place]
        return name
    meant = value if given else _found(key, name)
    if _by_name(meant, name):
        return name
    try:
        code[place] = fingerprint(meant)
    except NoFingerprint as error:
        raise BadInput(
            f"{place} = {name!r}: what it computes cannot be read, because of {error}; give the setting a "
            "version of your choice, as in version='1', and another one whenever the code changes"
        ) from error
    if given:
        _GIVEN[name, code[place]] = value
    if recorded.get(place, code[place]) != code[place]:
        raise BadInput(
            f"{place} = {name!r} is not what it was when the run was planned: its code has changed "
            f"({recorded[place]} before, {code[place]} now); start again, or go back to that code"
        )
    return name


def _by_name(value: Any, name: str) -> bool:
    """Whether the name is enough, because it is of an installed package."""
    return hasattr(value, "__qualname__") and is_installed(value) and ":" in name


def _found(key: str, name: str) -> Any:
    if name.startswith(("__main__:", "given:")):
        raise BadInput(
            f"{key} = {name!r} was given by another program: give it again, or put it into a module and "
            "name it as 'module:name'"
        )
    return extensions.load(name, key)


def resolve(key: str, name: str, code: Mapping[str, str], version: str | None, place: str = "") -> Any:
    """What a key of a setting names.

    Args:
        key, name: of the setting.
        code: its fingerprints.
        version: the user's own, in their place.
        place: the key in `code`; default: the key.
    """
    stamp = version if version is not None else code.get(place or key, "")
    return _GIVEN[name, str(stamp)] if (name, str(stamp)) in _GIVEN else _found(key, name)


def tell_changes(identities: Iterable[Mapping[str, Any]], store: Store) -> None:
    """Warn where the store has the same runs with other code: those stay, and the runs are trained again."""
    new = {_without_code(own): own for own in identities if own.get("code")}
    if not new:
        return
    changed: dict[str, int] = {}
    for record in store.records().values():
        own = new.get(_without_code(record.setting)) if record.setting.get("code") else None
        if own is not None:
            before = record.setting["code"]
            places = [place for place in own["code"] if before.get(place) != own["code"][place]]
            for place in places:
                changed[place] = changed.get(place, 0) + 1
    for place, count in changed.items():
        key, _, column = place.partition(".")
        own = next(iter(new.values()))
        name = own[key][column] if column else own[key]
        warnings.warn(
            f"{place} = {name!r} has changed since {counted(count, 'run')} in {store.path} were trained: "
            "they stay, and the runs are trained anew; to let changes pass, give a version",
            ChangedWarning,
            stacklevel=3,
        )


def _without_code(identity: Mapping[str, Any]) -> str:
    return run_name({name: value for name, value in identity.items() if name != "code"})


def call(
    function: Callable[..., Any],
    offered: Mapping[str, Any],
    what: str,
    must: Iterable[str] = (),
    whole: bool = True,
    place: str = "the setting",
) -> Any:
    """Call a function with those of the offered values that it has parameters for.

    A single required parameter without an offered value gets the whole mapping, as in ``lambda s: …``; in a
    class only if its name is in `WHOLE`, and never if `whole` is False.

    Args:
        function: to be called.
        offered: values by name.
        what: it is, for errors.
        must: names among the offered that the function has to take.
        place: where the offered values come from, for errors.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C
        return function()
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY, p.POSITIONAL_ONLY)]
    required = [p for p in plain if p.default is p.empty]
    alone = required[0].name if len(required) == 1 else None
    takes_all = whole and (not isinstance(function, type) or alone in WHOLE)
    if takes_all and alone is not None and alone not in offered:
        return function(offered)
    if missing := [p.name for p in required if p.name not in offered]:
        of_data = [name for name in ("input_shape", "n_outputs", "n_classes") if name in offered]
        raise BadInput(
            f"{what} needs {', '.join(missing)}: give {missing[0]} in {place}, or the parameter a default"
            + (f"; {', '.join(of_data)} are those of the data" if of_data else "")
        )
    names = {p.name for p in plain}
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        names |= set(must)
    elif unused := [name for name in must if name not in names]:
        raise BadInput(
            f"{what} takes no {unused[0]!r}; {nearest(unused[0], names) if names else 'leave it out'}"
        )
    return function(**{name: value for name, value in offered.items() if name in names})


# --- data, loaded once for all runs that name them ---------------------------------------------------

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
    what = f"dataset = {name!r}"
    try:
        return call(found, options, what, must=options, whole=False, place="data_options")
    except TypeError as error:
        raise BadInput(f"{what} with data_options = {dict(options)}: {error}") from error
