"""Matplotlib figures from curves and laws.

Each kind is a submodule that is loaded when it is first used: ``scalinglab.figures.laws`` and so on.
"""

from __future__ import annotations

from scalinglab.support.lazy import lazily

__all__ = ["collapse", "laws", "results", "style"]

__getattr__, __dir__ = lazily(__name__, modules={name: name for name in __all__})
