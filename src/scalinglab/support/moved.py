"""Old paths of modules: they load for one more version, with a `DeprecationWarning` that names the new path.

`MOVED` is the only list. A finder at the end of `sys.meta_path` looks there, after Python has found no file,
so an old path costs nothing until it is imported.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from scalinglab.support.deprecation import warn_renamed


def _into(folder: str, old: str, names: str) -> dict[str, str]:
    """Modules that moved into a folder under the names that they had."""
    prefix = f"{old}." if old else ""
    return {prefix + name: f"{folder}.{name}" for name in names.split()}


MOVED: dict[str, str] = {  # below scalinglab
    **_into("support", "", "deprecation lazy notebook numbers_given phases progress whole_files words"),
    **_into("laws.fitting", "laws", "law profile uncertainty"),
    **_into("laws.fitting.data", "laws.fitting", "from_curves points rising"),
    **_into("laws.learning_curves", "laws", "shape smoothing"),
    **_into("measure.network_norms", "measure", "functional graph operators rules tracing"),
    **_into("store.sealed_runs", "store", "pack_index parquet sealed_folder"),
    **_into("sweep.pools", "sweep", "engines pool preflight ray_engine worker"),
    **_into("theory.dmft.solver", "theory.dmft", "contour correlation problem response"),
    **_into("train.checkpoints", "train", "extra_measurements measuring saving state"),
    **_into("train.variants", "train", "linearized projection"),
    "laws.alignment": "laws.learning_curves.quality",
    "laws.approaches": "laws.planning.hoffmann",
    "laws.design": "laws.planning.next_runs",
    "laws.dynamics": "laws.learning_curves.dynamical",
    "laws.error_budget": "laws.fitting.uncertainty_budget",
    "laws.forecasts": "laws.extrapolation.forecasters",
    "laws.form": "laws.forms.base",
    "laws.plan": "laws.planning.questions",
    "laws.points": "laws.fitting.data.points",
    "laws.rescaling": "laws.learning_curves.collapse",
    "laws.sensitivity": "laws.planning.sensitivity",
    "laws.sizes": "laws.learning_curves.mean_curves",
    "laws.solve": "laws.fitting.least_squares",
    "laws.surfaces": "laws.forms.surfaces",
    "laws.tables": "laws.fitting.data.from_curves",
    "measure.capture": "measure.network_norms.cuda_graphs",
    "measure.complexity": "measure.network_norms.report",
    "measure.kernels": "measure.tangent_kernel",
    "measure.linear": "measure.network_norms.layers",
    "measure.norm_tracker": "measure.network_norms.tracker",
    "measure.reading": "measure.network_norms.device_reads",
    "measure.spectral": "measure.network_norms.lanczos",
    "store.sealed": "store.sealed_runs.parquet",
    "store.shelf": "store.sealed_runs.sealed_folder",
    "sweep.running": "sweep.driver",
    "theory.dmft.recipe": "theory.dmft.direct_iteration",
    "train.convolution": "train.kernels.im2col",
    "train.images": "train.kernels.cpu_layers",
    "train.program": "train.training_step",
    "train.readings": "train.checkpoints.extra_measurements",
    "train.rewriting": "train.kernels.gpu_layers",
    "train.small": "train.kernels.onednn",
    "train.triton_convolution": "train.kernels.triton_conv",
    "train.winograd": "train.kernels.winograd",
}


class OldPaths(MetaPathFinder, Loader):
    """Finds a module by its old path and gives the module of the new one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called by Python for a module that has no file."""
        package, _, name = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == "scalinglab" and name in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of the new path in the place of the empty one that Python made."""
        old = module.__name__
        new = f"scalinglab.{MOVED[old.removeprefix('scalinglab.')]}"
        parent, _, name = old.rpartition(".")
        if name not in dir(sys.modules[parent]):  # `laws.plan` is a public name: its path is no old one
            warn_renamed(old, new)
        sys.modules[old] = importlib.import_module(new)


def install() -> None:
    """Let old paths be found, once a process."""
    if not any(isinstance(finder, OldPaths) for finder in sys.meta_path):
        sys.meta_path.append(OldPaths())
