"""What is installed beside this package: a lock with hashes, a bill of materials, the licences.

python tools/supply_chain.py check      the release check: offline, exit status 1 where something is wrong
python tools/supply_chain.py lock       write requirements.lock and bill-of-materials.json from the index

`requirements.lock` pins everything that ``.[dev,logs]`` brings on Linux, with the SHA-256 of every file of
that version for the platforms in `PLATFORMS`: ``pip install --require-hashes -r requirements.lock``. The
versions are those of constraints.txt; what only builds of PyTorch for GPUs bring (NVIDIA's libraries) comes
on top. `bill-of-materials.json` is in CycloneDX 1.5, with the licence of every package.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCK, BILL, CONSTRAINTS = (
    ROOT / "requirements.lock",
    ROOT / "bill-of-materials.json",
    ROOT / "constraints.txt",
)
INDEX = "https://pypi.org/simple"
EXTRAS = "dev,logs"
PLATFORMS = re.compile(
    r"any|(many|musl)linux.*(x86_64|aarch64)|linux.*(x86_64|aarch64)|macosx.*|win_amd64|win32"
)
PYTHONS = re.compile(r"py3|py2\.py3|cp311|cp312|cp313|cp314|cp3\d")
# licences under which a dependency may be used and shipped beside this package
ALLOWED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python", "HPND", "ISC",
    "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib",
}  # fmt: skip
# brought by builds of PyTorch for GPUs alone, and not redistributed
GPU_ONLY = re.compile(r"nvidia-.*|cuda-.*|triton")
# what packages say in their own words, in the words of SPDX
WORDS = {
    "mit": "MIT", "apache": "Apache-2.0", "isc": "ISC", "mozilla": "MPL-2.0", "mpl": "MPL-2.0",
    "python software foundation": "PSF-2.0", "psf": "PSF-2.0", "2-clause": "BSD-2-Clause",
    "bsd": "BSD-3-Clause",
}  # fmt: skip
# why a package is here that no one asks for by name
REASONS = {"cwevals": "needed by wandb, whose logs are read in the tests (extra logs)"}


def name_of(text: str) -> str:
    """A package's name as indexes write it.

    >>> name_of("Jinja2"), name_of("ipython_pygments_lexers")
    ('jinja2', 'ipython-pygments-lexers')
    """
    return re.sub(r"[-_.]+", "-", text).lower()


def pins(text: str) -> dict[str, str]:
    """Versions by name, of constraints or of a lock."""
    return {name_of(n): v for n, v in re.findall(r"(?m)^([A-Za-z][\w.-]*)==([^\s\\;]+)", text)}


def licence(metadata: dict[str, Any]) -> str:
    """The licence of a package as an SPDX expression, from what its metadata say; empty where they do not."""
    if expression := metadata.get("license_expression"):
        return str(expression)
    own = (metadata.get("license") or "").strip().partition("\n")[0]
    if re.fullmatch(r"[\w.-]+( (AND|OR|WITH) [\w.-]+)*", own) and set(parts(own)) <= ALLOWED:
        return own
    given = [c.rpartition("::")[2] for c in metadata.get("classifier", ()) if c.startswith("License")]
    for text in (*given, own):
        for word, spdx in WORDS.items():
            if word in text.lower():
                return spdx
    return ""


def parts(expression: str) -> list[str]:
    """The licences that an SPDX expression names, exceptions left out."""
    return [part.partition(" WITH ")[0].strip("() ") for part in re.split(r" AND | OR ", expression)]


def acceptable(expression: str) -> bool:
    """Whether one of the alternatives of an expression is allowed in all its parts.

    >>> acceptable("GPL-3.0 OR MIT"), acceptable("GPL-3.0 AND MIT"), acceptable("")
    (True, False, False)
    """
    return any(set(parts(choice)) <= ALLOWED for choice in expression.split(" OR "))


def resolved() -> list[dict[str, Any]]:
    """The metadata of all that pip would install, without this package."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--quiet",
        "--report",
        "-",
    ]
    command += ["--index-url", INDEX, "-c", str(CONSTRAINTS), f"{ROOT}[{EXTRAS}]"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    own = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["name"]
    found = [entry["metadata"] for entry in report["install"]]
    return sorted((m for m in found if m["name"] != own), key=lambda m: name_of(m["name"]))


def hashes(name: str, version: str) -> list[str]:
    """The SHA-256 of every file of a version that these platforms and Pythons install."""
    with urllib.request.urlopen(f"{INDEX}/{name_of(name)}/", timeout=60) as answer:
        page = answer.read().decode()
    found = []
    for file, digest in re.findall(r"/([^/#\"]+)#sha256=([0-9a-f]{64})", html.unescape(page)):
        wheel = re.fullmatch(r"([^-]+)-([^-]+)(?:-\d[^-]*)?-([^-]+)-([^-]+)-([^-]+)\.whl", file)
        if wheel:
            fits = (
                wheel[2] == version
                and PYTHONS.match(wheel[3])
                and PLATFORMS.fullmatch(wheel[5].split(".")[0])
            )
        else:
            fits = re.fullmatch(rf".*-{re.escape(version)}\.(tar\.gz|zip)", file)
        if fits:
            found.append(digest)
    return sorted(set(found))


def lock() -> None:
    """Write the lock and the bill of materials."""
    lines = ["# pip install --require-hashes -r requirements.lock; written by tools/supply_chain.py lock"]
    components = []
    for metadata in resolved():
        name, version = name_of(metadata["name"]), metadata["version"]
        found = hashes(name, version)
        if not found:
            sys.exit(f"{name} {version}: the index has no file for these platforms")
        if name in REASONS:
            lines.append(f"# {REASONS[name]}")
        lines.append(f"{name}=={version} \\")
        lines += [f"    --hash=sha256:{digest} \\" for digest in found]
        lines[-1] = lines[-1].removesuffix(" \\")
        components.append(
            {
                "type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}",
                "licenses": [{"expression": licence(metadata) or "NOASSERTION"}],
            }
        )  # fmt: skip
    LOCK.write_text("\n".join(lines) + "\n", "utf-8")
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}
    BILL.write_text(json.dumps(bill, indent=1) + "\n", "utf-8")


def problems() -> list[str]:
    """What a release must not have: pins that disagree or lack hashes, licences that are not allowed."""
    locked, fixed = pins(LOCK.read_text("utf-8")), pins(CONSTRAINTS.read_text("utf-8"))
    bill = {c["name"]: c for c in json.loads(BILL.read_text("utf-8"))["components"]}
    told = [
        f"{name}: {fixed[name]} in constraints.txt, {version} in requirements.lock"
        for name, version in locked.items() if fixed.get(name, version) != version
    ]  # fmt: skip
    unpinned = [name for name in locked if name not in fixed and name not in REASONS]
    told += [
        f"{name} is in requirements.lock without a version in constraints.txt"
        for name in unpinned if not GPU_ONLY.fullmatch(name)
    ]  # fmt: skip
    text = LOCK.read_text("utf-8")
    told += [
        f"{name} has no hash in requirements.lock" for name in locked
        if not re.search(rf"(?m)^{re.escape(name)}==\S+ \\\n    --hash=sha256:[0-9a-f]{{64}}", text)
    ]  # fmt: skip
    told += [
        f"requirements.lock names a host or a path: {word}"
        for word in re.findall(r"(?:https?|file)://\S+", text)
    ]
    versions = {name: component["version"] for name, component in bill.items()}
    told += [f"{name} is not the same in bill-of-materials.json" for name in {*locked, *versions}
             if locked.get(name) != versions.get(name)]  # fmt: skip
    for name, component in bill.items():
        expression = component["licenses"][0]["expression"]
        if not acceptable(expression) and not GPU_ONLY.fullmatch(name):
            told.append(f"{name}: licence {expression!r} is not one of those allowed")
    return told


def main() -> int:
    """Write the files, or check them."""
    if sys.argv[1:] == ["lock"]:
        lock()
    elif sys.argv[1:] != ["check"]:
        sys.exit(__doc__)
    told = problems()
    print(
        "\n".join(told)
        or f"{len(pins(LOCK.read_text('utf-8')))} packages locked by hash, every licence is allowed"
    )
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
