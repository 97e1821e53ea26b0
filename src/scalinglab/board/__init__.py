"""The live page that follows a store: the report's figures, drawn again as runs come in.

`scalinglab board runs/` serves it on this machine only, for reading only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalinglab.support.lazy import lazily

if TYPE_CHECKING:
    from scalinglab.board.server import app, serve

__all__ = ["app", "serve"]

__getattr__, __dir__ = lazily(__name__, dict.fromkeys(__all__, "server"))
