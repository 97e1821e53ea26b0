"""File system primitives of the store: locks and atomic writes."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from scalinglab.errors import ScalinglabError
from scalinglab.support import whole_files
from scalinglab.support.whole_files import sync_folder


class StoreError(ScalinglabError, OSError):
    """The store could not do what was asked; what it contained before is intact."""


class RunBusy(StoreError):
    """Another process is writing this run."""


class RunDone(StoreError):
    """This run is done already."""


class Damaged(StoreError):
    """A file was cut short or changed since it was written, or is no file of a store."""


class NewerFormat(StoreError):
    """A file was written by a later version of scalinglab, in a format that this one does not know."""


class Inaccessible(StoreError):
    """A file that cannot be read: no permission, or an I/O error."""


class StoreWarning(UserWarning):
    """A file of the store cannot be read and was left out, or loading takes long and why."""


_WAY_OUT = {
    errno.ENOSPC: "free some space, then resume",
    errno.EDQUOT: "your quota is used up: free some space, then resume",
    errno.EFBIG: "the file may not grow any more: raise the limit, then resume",
    errno.EACCES: "you may not write there: choose another folder or change its permissions",
    errno.EPERM: "you may not write there: choose another folder or change its permissions",
    errno.EROFS: "the file system is read-only: choose another folder",
    errno.ELOOP: "it is a link, which may lead out of the store: remove it",
    errno.ENOTDIR: "a file stands where a folder is needed: choose another path",
}


_SHORT_OF = {  # what the whole process lacks, whichever file it asks for
    errno.EMFILE: "this process has too many open files: raise the limit (ulimit -n)",
    errno.ENFILE: "this machine has too many open files: close some programs",
    errno.ENOMEM: "this machine is out of memory",
}


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn a failure to read into an error that names the file or the process as the reason.

    A file that is not there stays a FileNotFoundError.
    """
    try:
        yield
    # a missing file was sealed or compacted meanwhile, which callers look for
    except (FileNotFoundError, StoreError):
        raise
    except OSError as error:
        reason = f"cannot read {path}: {error.strerror or error}"
        if error.errno in _SHORT_OF:
            raise StoreError(f"{reason}; {_SHORT_OF[error.errno or 0]}") from error
        raise Inaccessible(f"{reason}; ask its owner, or change its permissions") from error


def newer(what: str, version: object) -> str:
    """The message about something that a later version wrote."""
    writer = f"scalinglab {version}" if isinstance(version, str) else "a later scalinglab"
    return f"{what} was written by {writer}, in a format that this version does not know: upgrade scalinglab"


def quarantine_path(path: Path, store: Path) -> Path:
    """A free name for a damaged file in the store's folder `damaged`."""
    folder = store / "damaged"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    numbered = (folder / f"{path.stem}-{number}{path.suffix}" for number in itertools.count(2))
    return next(new for new in itertools.chain([folder / path.name], numbered) if not new.exists())


def quarantine(path: Path, store: Path) -> Path:
    """Move a damaged file into the store's folder `damaged`; returns its new path."""
    new = quarantine_path(path, store)
    with writing(new):
        path.rename(new)
    # the name is an entry of the folder, and outlives a power failure once that is on disk
    sync_folder(new.parent)
    return new


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a write failure into an error that names what is safe and what to do."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        way_out = _WAY_OUT.get(error.errno or 0, "everything stored before is intact")
        raise StoreError(f"cannot write {path}: {error.strerror or error}; {way_out}") from error


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file of the store: whole or not at all, on disk when this returns; errors name what is safe."""
    with writing(path):
        whole_files.write_whole(path, write, sync=True)


def lock(descriptor: int, path: Path, wait: bool = False) -> bool:
    """Take the lock of an open file; False if another process holds it.

    The system drops the lock when its holder dies, however it dies.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return _lock_windows(descriptor, wait)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError as error:
        # over NFS flock is a record lock, which may answer EACCES where another process holds it
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise StoreError(
            f"cannot lock {path}: {error.strerror}; the store needs a file system with file locks"
        ) from error


def _lock_windows(descriptor: int, wait: bool) -> bool:
    import msvcrt

    os.lseek(descriptor, 2**40, os.SEEK_SET)  # a byte far beyond the data: Windows locks are mandatory
    try:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore
        return True
    except OSError:
        return False


def open_to_lock(path: Path) -> int:
    """The descriptor of a file that is to be locked, created if missing."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # a link would lead out of the store; Windows has no such flag
        # readable and writable as the umask allows: users may share a store
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)


@contextlib.contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """Hold the lock on `path`, created if missing; without `wait`, gives False if another has it."""
    descriptor = open_to_lock(path)
    try:
        while not (acquired := lock(descriptor, path, wait=wait)) and wait:
            pass  # Windows gives up after ten seconds
        yield acquired
    finally:
        # this drops the lock; the file stays: a waiter would else lock a file that no one else opens
        os.close(descriptor)
