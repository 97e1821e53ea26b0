"""The live page that follows a store: the report's figures, drawn again as runs come in.

`scalinglab board runs/` serves it on this machine only, for reading only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalinglab.board.server import app, serve

__all__ = ["app", "serve"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'scalinglab.board' has no attribute {name!r}")
    from scalinglab.board import server

    return getattr(server, name)


def __dir__() -> list[str]:
    return sorted(__all__)
