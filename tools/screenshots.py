"""Make the pictures of the README and of the page "From your logs to a decision": ``make screenshots``.

The README shows the top of the demonstration's report. The table of the other page is the one that the page
itself writes; every picture is made by a command that it names. Reports are opened in a headless Chromium.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, IMAGES = ROOT / "docs" / "from-logs-to-a-decision.md", ROOT / "docs" / "images"
COLOURS = 128  # of the pictures' palettes
SURFACE = "laws surface runs.csv --compute 1e22 --figure surface.png"
LAW = "laws fit small.csv --x tokens --form power_law_offset,power_law --at 1e11 --figure law.png"
REPORT = "report runs.csv -o report.html"
README = ROOT / "docs" / "assets" / "report.png"
TOP = 1000, 1055  # pixels of the report that the README shows: the prediction and where it fell


def main() -> None:
    """Run the demonstration and the page's commands, and keep their pictures."""
    sys.path.insert(0, str(ROOT))
    from tests.browser import Browser

    with tempfile.TemporaryDirectory() as folder, Browser(*TOP) as browser:
        subprocess.run([sys.executable, "-m", "scalinglab", "demo"], cwd=folder, check=True)
        browser.open_report(Path(folder) / "demo" / "report.html")
        browser.screenshot(Path(folder) / "report.png", whole_page=False)
        keep(Path(folder) / "report.png", README)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        first = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        assert first is not None, "the page begins with the code that writes runs.csv"
        small = (
            "t = pd.read_csv('runs.csv'); t[t.params == t.params.max()].to_csv('small.csv', index=False)\n"
        )
        subprocess.run([sys.executable, "-c", first[1] + small], cwd=place, check=True)
        for words in (SURFACE, LAW, REPORT):
            assert f"scalinglab {words}" in PAGE.read_text(), f"the page does not name: scalinglab {words}"
            subprocess.run([sys.executable, "-m", "scalinglab", *words.split()], cwd=place, check=True)
        with Browser(1100, 1500) as browser:
            browser.open_report(place / "report.html")
            browser.screenshot(place / "report.png", whole_page=False)
        for name in ("surface", "law", "report"):
            keep(place / f"{name}.png", IMAGES / f"decision-{name}.png")


def keep(picture: Path, path: Path) -> None:
    """A picture with few colours, which is a fifth of its size."""
    from PIL import Image

    Image.open(picture).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(path.relative_to(ROOT), f"{path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
