"""Execute the notebooks under docs/notebooks and turn each into a page with its outputs.

They are kept without outputs. The build fails where a cell does.
"""

from __future__ import annotations

import base64
import html
import os
import re
import tempfile
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parent / "notebooks"
SECONDS = 600  # for a cell, on a slow machine
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def executed(path: Path) -> Any:
    """The notebook with its outputs, run in an empty folder."""
    import nbformat
    from nbclient import NotebookClient

    os.environ |= {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "COLUMNS": "100"}
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": folder}}).execute()
    return notebook


def page(notebook: Any, name: str) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by the names of their files."""
    lines: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            lines += [cell.source, ""]
            continue
        lines += ["```python", cell.source, "```", ""]
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode(data["image/png"])
                lines += [f"![figure of the cell above]({picture})", ""]
            elif "text/html" in data:
                lines += [re.sub(r"\n\s*\n", "\n", str(data["text/html"])), ""]
            else:
                text = _COLOURS.sub("", str(output.get("text") or data.get("text/plain", ""))).strip()
                lines += (
                    ["<pre>" + html.escape(text).replace("\n\n", "\n&nbsp;\n") + "</pre>", ""] if text else []
                )
    lines += [f"The notebook itself: [{name}.ipynb]({name}.ipynb)."]
    return "\n".join(lines), pictures
