"""Random arguments for every public function, drawn by their annotations and names.

Most are of the right type and size, so that a call reaches what it computes; some are extreme, of another
type, or arrays whose shapes do not fit.
"""

import inspect
import math
import re
import resource
import signal
import types
import warnings
from contextlib import contextmanager
from functools import cache

import numpy as np
import pandas as pd

import scalinglab as sl
from scalinglab.errors import ScalinglabError
from scalinglab.support.validation import _alternatives

NO_ENTRANCE = re.compile(
    r"figures\.(style|data|results)\.|figures\.\w+\.(draw_|plain_ticks|sizes_legend|settings_of|slope_text)|"
    r"theory\.kernel\.(increasing_root|shares|effective_ridge|n_modes)$|"
    r"laws\.schedule\.(prepare|fit_points)$|laws\.forms\.\w+\.\w+$|"
    r"data\.(folder|search_path)$|laws\.forms\.registry\.|studies\.(?!check$|entries$|entry$|reproduce$)"
)
SECONDS = 20  # of CPU, after which a call counts as one that hangs
MEMORY = 12 << 30  # of addresses; PyTorch alone takes several
# of these every draw has an argument of the wrong type: with the right ones they download, serve for ever,
# train, or run whole studies, which other tests do
ONLY_WRONG = (
    "board.app", "board.serve", "data.get", "data.load", "explain", "report.write", "studies.check",
    "studies.reproduce", "sweep.execute", "sweep.run", "train.run", "train.run_many",
    "readers.take_in", "figures.collapse.dynamical", "laws.register_form",
)  # fmt: skip
WRONG = (
    None, "text", b"bytes", 1j, object(), {}, [], ["a", 1.0], [[1.0, 2.0], [3.0]], np.array(["a"]), math.nan,
)  # fmt: skip
EXTREME = (0, -1, 1e308, -1e308, 1e-308, 2**63, 10**12, math.inf, -math.inf, math.nan, 0.5, 1e15)
WORDS = (
    "auto", "power_law", "power_law_offset", "n_data", "n_params", "test_loss", "test_error", "norm", "step",
    "torus", "sphere", "cube", "relu", "erf", "cpu", "mlp", "digits", "", "nan", "no such", "last", "best",
)  # fmt: skip


def public_functions():
    """Every public function by its name: in `__all__`, or without an underscore in a module that has none.

    Those of figures that draw on given axes, parts of solvers, curves of forms and what studies are written
    with are no entrances: see `NO_ENTRANCE`.
    """
    found, seen = {}, set()

    def walk(module):
        if module.__name__ in seen:
            return
        seen.add(module.__name__)
        offered = getattr(module, "__all__", None)
        if offered is None:
            own = [n for n, o in vars(module).items() if getattr(o, "__module__", None) == module.__name__]
            offered = [n for n in own if not n.startswith("_")]
        for name in offered:
            try:
                value = getattr(module, name)
            except ImportError:  # an extra that is not installed here
                continue
            if isinstance(value, types.ModuleType) and value.__name__.startswith(module.__name__):
                walk(value)
            elif inspect.isfunction(value) and value.__module__.startswith("scalinglab"):
                found.setdefault(value, f"{module.__name__}.{name}".removeprefix("scalinglab."))

    walk(sl)
    return {name: function for function, name in found.items() if not NO_ENTRANCE.match(name)}


@cache
def _things(name):
    """Objects of a class that functions take; none of a class that is not known here."""
    rng = np.random.default_rng(0)
    if name in ("Module", "Tensor"):
        import torch

        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        return [network] if name == "Module" else [torch.randn(6, 4), torch.randn(6, 3), torch.randn(0, 4)]
    if name == "Spectrum":
        return [sl.Spectrum.power_law(1.0, 1.0, 50), sl.Spectrum(np.array([1.0, 0.1]), np.ones(2))]
    if name in ("Law", "Form"):
        x = np.geomspace(1e2, 1e5, 9)
        law = sl.laws.fit("power_law_offset", x, (0.1 + 2 * x**-0.4) * np.exp(0.01 * rng.standard_normal(9)))
        return [law] if name == "Law" else [law.form]
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e8, 4), np.geomspace(1e8, 1e10, 4)))
    loss = (1.7 + 400 * n**-0.34 + 410 * d**-0.28) * np.exp(0.01 * rng.standard_normal(len(n)))
    runs = pd.DataFrame({"n_params": n, "n_data": d, "test_loss": loss})
    if name == "Surface":
        return [sl.laws.surface.fit(runs, y="test_loss")]
    sizes, step = np.repeat([100, 200, 400, 800, 1600], 20), np.tile(np.geomspace(1, 1000, 20), 5)
    error = 0.05 + sizes**-0.3 * (0.2 + step**-0.4)
    curves = pd.DataFrame({"n_data": sizes, "step": step, "norm": step**0.5, "test_error": error})
    network = {"model": "mlp", "dataset": "digits", "width": 8, "steps": 5}
    known = {
        "Grid": lambda: [sl.sweep.Grid(setting=network, axes={"n_data": [10, 20]}, seeds=2), sl.sweep.Grid()],
        "DataFrame": lambda: [curves, runs, curves.iloc[:0]],
        "Curves": lambda: [sl.Curves(curves), sl.Curves(runs)],
    }
    return known[name]() if name in known else []


class Arguments:
    """Draws arguments from a seed."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def pick(self, choices):
        return choices[int(self.random.integers(len(choices)))]

    def number(self, name):
        kind = self.random.random()
        if kind < 0.15:
            return self.pick(EXTREME)
        if name in ("noise", "ridge", "level", "momentum", "tolerance"):
            return float(self.random.random())
        return float(10 ** self.random.uniform(-2, 3))

    def whole(self, name):
        if self.random.random() < 0.15:
            return self.pick(EXTREME)
        return int(self.random.integers(0, 4 if name in ("depth", "dimension", "seed", "k") else 40))

    def array(self, name):
        shape = self.pick([(5,), (5,), (5,), (3,), (0,), (4, 4), (5, 4), (6, 4), ()])
        values = 10 ** self.random.uniform(-1, 3, shape)
        values = np.sort(values) if values.ndim == 1 else values
        if values.size and self.random.random() < 0.15:
            values = np.atleast_1d(values)
            values.flat[0] = float(self.pick(EXTREME))
        return values.tolist() if self.random.random() < 0.2 else values

    def argument(self, name, annotation):
        alternatives = _alternatives(annotation)
        base = self.pick(alternatives).partition("[")[0].rpartition(".")[2]
        if base == "int":
            return self.whole(name)
        if base == "float":
            return self.number(name)
        if base == "bool":
            return bool(self.random.integers(2))
        if base == "str":
            return self.pick(WORDS)
        if base == "None":
            return None
        if base in ("ArrayLike", "ndarray", "Sequence", "Iterable", "list", "tuple"):
            return self.array(name)
        if _things(base):
            return self.pick(_things(base))
        if base in ("Mapping", "dict"):
            return self.pick([{}, {"n_data": 100}, {"a": 1}])
        if base == "Any":
            return self.pick([self.number(name), self.array(name), self.array(name), self.pick(WORDS)])
        return self.pick(WRONG)

    def call(self, function, only_wrong=False):
        """Positional and named arguments."""
        args, named, wrong = [], {}, []
        for p in inspect.signature(function).parameters.values():
            given = self.random.random() < 0.5
            if p.kind is p.VAR_POSITIONAL:
                args += [self.array("x"), self.array("y")] if given else [self.pick(_things("DataFrame"))]
            elif p.kind is p.VAR_KEYWORD or (p.default is not p.empty and not given):
                continue
            elif p.kind is p.KEYWORD_ONLY:
                named[p.name] = self.argument(p.name, str(p.annotation))
            else:
                args.append(self.argument(p.name, str(p.annotation)))
                if p.default is not p.empty:
                    named[p.name] = args.pop()
        places = [*range(len(args)), *named]
        if places and (only_wrong or self.random.random() < 0.25):
            wrong = places if only_wrong else [self.pick(places)]
        for place in wrong:
            (args if isinstance(place, int) else named)[place] = self.pick(WRONG)
        return args, named


@contextmanager
def limited():
    """Too much memory is refused at once, and what takes too long is interrupted."""

    def interrupt(*_):
        raise TimeoutError

    before, limits = signal.signal(signal.SIGPROF, interrupt), resource.getrlimit(resource.RLIMIT_AS)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, limits[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def attack(name, function, seed):
    """What became of one call: `numbers`, `refused`, `nan` (in text), `foreign` or `hang`, and words."""
    args, named = Arguments([seed, *name.encode()]).call(function, name in ONLY_WRONG)
    with warnings.catch_warnings(), np.errstate(all="ignore"), limited():
        warnings.simplefilter("ignore")
        try:
            found = function(*args, **named)
            text = found.summary() if hasattr(found, "summary") else ""
            has_words = type(found).__str__ is not object.__str__ and not isinstance(
                found, (np.ndarray, np.generic, float)
            )
            text += str(found) if has_words else ""
        except ScalinglabError as error:
            text, found = str(error), error
        except TimeoutError:
            return "hang", f"{args} {named}"
        except Exception as error:
            return "foreign", f"{type(error).__name__}: {error} {args} {named}"
    if isinstance(found, ScalinglabError):
        return "refused", text
    return ("nan", text) if _says_nan(text) else ("numbers", "")


def _says_nan(text):
    return any(word.strip("()[],;:±%").lower() == "nan" for word in text.split())
