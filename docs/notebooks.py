"""Execute the notebooks under docs/notebooks and turn each into a page with its outputs.

They are kept without outputs. The build fails where a cell does. All have one kernel, which loads the
packages once: each begins with no names defined, in an empty folder.
"""

from __future__ import annotations

import base64
import html
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parent / "notebooks"
SECONDS = 600  # for a cell, on a slow machine
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def executed(paths: Sequence[Path]) -> Iterator[Any]:
    """The notebooks with their outputs."""
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_core.utils import run_sync
    from nbclient import NotebookClient

    os.environ |= {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "COLUMNS": "100"}
    kernel = AsyncKernelManager()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for path in paths:
                own = Path(folder, path.stem)
                own.mkdir()
                notebook = nbformat.read(path, as_version=4)
                notebook.cells.insert(0, nbformat.v4.new_code_cell(f"%reset -f\n%cd -q {own}"))
                NotebookClient(notebook, kernel, timeout=SECONDS).execute()
                del notebook.cells[0]
                yield notebook
    finally:
        run_sync(kernel.shutdown_kernel)(now=True)


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
