"""What every question returns, as data, and the one renderer of it.

A result holds values with units (`Estimate`), a `Status`, reasons as data (`Reason`) and the command that
shows more (`Command`). `sentences` has the words of reasons and notes, `findings` those of whole answers
with their JSON, `fits` those of fits with their table. No code reads prose.
"""

from __future__ import annotations

from scalinglab.support.lazy import lazily

__all__ = ["Column", "Command", "Estimate", "Finding", "NotebookResult", "Reason", "Status", "reason_of"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Column": "sentences", "Command": "types", "Estimate": "distributions", "Finding": "findings",
        "NotebookResult": "notebook", "Reason": "types", "Status": "types", "reason_of": "types",
    },
)  # fmt: skip
