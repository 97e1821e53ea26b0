"""Check that every machine sees the store's folder: the driver writes a token that workers must find.

Otherwise, workers on a machine without the shared folder would write all runs to a local folder.
"""

from __future__ import annotations

import contextlib
import platform
import time
import uuid
from pathlib import Path

from scalinglab.store import StoreError
from scalinglab.store.files import writing

_FOLDER = ".preflight"
_DAY = 86_400.0  # seconds after which a token is of a sweep that was killed
PATIENCE = 10.0  # seconds that a shared file system may take to show a file


def leave_token(store: Path) -> str:
    """Leave a token in the store's folder and remove those of sweeps that were killed long ago."""
    folder, token = store / _FOLDER, uuid.uuid4().hex
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / token).write_text(token)
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _DAY:
                path.unlink()
    return token


def remove_token(store: Path, token: str) -> None:
    """Remove a token and the answers to it."""
    for path in (store / _FOLDER).glob(f"{token}*"):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # another sweep's token is there
        (store / _FOLDER).rmdir()


def find_token(store: Path, token: str) -> None:
    """Raise where this machine does not see the token in the store's folder."""
    if not appears(store / _FOLDER / token):
        raise StoreError(
            f"host {platform.node()} does not see the folder {store}: all nodes must share it under this "
            "path (a network file system, for example)"
        )


def answer_token(store: str, token: str, node: str) -> str | None:
    """On a node: read the token, write an answer beside it; what is wrong, if anything."""
    try:
        find_token(Path(store), token)
        (Path(store) / _FOLDER / f"{token}-{node}").write_text(platform.node())
    except StoreError as error:
        return str(error)
    except OSError as error:
        return f"host {platform.node()} cannot write to the folder {store}: {error.strerror}"
    return None


def check_answer(store: Path, token: str, node: str, host: str) -> str | None:
    """On the driver: see what a node wrote; what is wrong, if anything."""
    if appears(store / _FOLDER / f"{token}-{node}"):
        return None
    return f"what host {host} writes to the folder {store} does not appear here: all nodes must share it"


def appears(path: Path) -> bool:
    """Whether a file exists, or appears within the time that a network file system takes."""
    if path.exists():
        return True
    if not path.parent.parent.exists():  # not even the store's folder
        return False
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            list(path.parent.iterdir())  # makes NFS ask the server
        if path.exists():
            return True
        time.sleep(0.2)
    return False
