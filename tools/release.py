"""Build what a release would upload, and use it as somebody who has nothing else.

python tools/release.py            wheel and sdist, their files, `scalinglab answer` from the installed wheel
python tools/release.py whole      the same, with dependencies from the index in an environment of their own
python tools/release.py to FOLDER  the first, and keep wheel and sdist

The wheel is built twice, from this folder and from the sdist, and both must have the same files. Without
`whole` the new environment borrows the dependencies of this one, but not its scalinglab: seconds, not
minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml")  # of an sdist
TABLE = "n_data,test_loss\n" + "\n".join(f"{10**k},{0.2 + 3 * 10 ** (-0.3 * k)}" for k in range(2, 9))
EXPONENT = 0.3


def call(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints, which finds no module of this folder; the release ends where it fails."""
    hidden = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    out = subprocess.run([str(word) for word in command], cwd=cwd, env=hidden, capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {out.returncode}:\n{out.stdout}{out.stderr}")
    return out.stdout


def environment(folder: Path) -> Path:
    """A new environment, without anything in it; its Python."""
    venv.create(folder)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def install(python: Path, *what: str | Path) -> None:
    """Install into an environment by the pip of this one: to put pip into it would take seconds."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    call(*pip, "install", "--quiet", "--no-compile", *what)


def build(folder: Path) -> tuple[Path, Path]:
    """Wheel and sdist, in a folder."""
    python = environment(folder / "builder")
    install(python, "hatchling")
    call(python, "-m", "hatchling", "build", "-d", folder / "dist")
    (wheel,), (sdist,) = ((folder / "dist").glob(pattern) for pattern in ("*.whl", "*.tar.gz"))
    with tarfile.open(sdist) as packed:
        packed.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    call(python, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "again", cwd=source)
    (again,) = (folder / "again").glob("*.whl")
    if files(again) != files(wheel):
        sys.exit(f"the wheel of the sdist has other files: {sorted(files(again) ^ files(wheel))[:10]}")
    if absent := [name for name in NEEDED if not (source / name).exists()]:
        sys.exit(f"the sdist lacks {', '.join(absent)}")
    return wheel, sdist


def files(wheel: Path) -> set[str]:
    """The names of a wheel's files."""
    with zipfile.ZipFile(wheel) as packed:
        return set(packed.namelist())


def check_files(wheel: Path) -> int:
    """Whether a wheel has every file of the packages and no other; how many."""
    tracked = call("git", "ls-files", "src").split("\n")
    wanted = {name.removeprefix("src/") for name in tracked if name}
    found = {name for name in files(wheel) if ".dist-info/" not in name}
    if wanted != found:
        sys.exit(f"the wheel lacks {sorted(wanted - found)[:10]}, and has {sorted(found - wanted)[:10]}")
    return len(found)


def use(wheel: Path, folder: Path, whole: bool) -> float:
    """Install a wheel where nothing else is, and ask it for the exponent of a table."""
    python = environment(folder / "empty")
    if whole:
        install(python, wheel)
    else:
        install(python, "--no-deps", wheel)
        place = call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        # a path alone: what is installed there for editing is not found by it
        Path(place, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    desk = folder / "desk"
    desk.mkdir()
    (desk / "table.csv").write_text(TABLE + "\n")
    where = call(python, "-c", "import scalinglab; print(scalinglab.__file__)", cwd=desk).strip()
    if not Path(where).is_relative_to(folder):
        sys.exit(f"not the wheel is imported, but {where}")
    answer = call(python.with_name("scalinglab"), "answer", "table.csv", "--json", cwd=desk)
    return exponent(json.loads(answer))


def exponent(document: object) -> float:
    """The first number in a document that is called exponent."""
    if isinstance(document, dict):
        found = document.get("exponent")
        if isinstance(found, dict):
            found = found.get("value")
        if isinstance(found, float):
            return found
    inside = document.values() if isinstance(document, dict) else document
    for part in inside if isinstance(inside, (list, type({}.values()))) else ():
        if (number := exponent(part)) == number:
            return number
    return float("nan")


def main() -> None:
    """Build, look, install, ask."""
    words = sys.argv[1:]
    if words not in ([], ["whole"]) and not (len(words) == 2 and words[0] == "to"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        wheel, sdist = build(folder)
        number = check_files(wheel)
        found = use(wheel, folder, whole=words == ["whole"])
        if abs(found - EXPONENT) > 0.01:
            sys.exit(f"scalinglab answer gives the exponent {found}, and it is {EXPONENT}")
        print(f"{wheel.name}: {number} files, installed where nothing else is; exponent {found:.3f}")
        if words[:1] == ["to"]:
            for path in (wheel, sdist):
                path.rename(Path(words[1]) / path.name)


if __name__ == "__main__":
    main()
