"""The board's server: two pages to read, none to write, on this machine unless asked otherwise."""

from __future__ import annotations

import platform
import secrets
import socket
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scalinglab.board.guard import LOOPBACK, Guard, is_loopback, timed_protocol
from scalinglab.board.state import section, state
from scalinglab.errors import BadInput, ScalinglabError, require
from scalinglab.report import build
from scalinglab.report.page import render
from scalinglab.report.sections import learning_curves
from scalinglab.store import Store, StoreWarning
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    from starlette.applications import Starlette


class Page:
    """The page for a store, made anew only when the store has changed."""

    def __init__(self, store: Store, title: str, refresh: float) -> None:
        self.store, self.title, self.refresh = store, title, refresh
        self._lock = threading.Lock()
        self._made: tuple[object, str] | None = None

    def text(self) -> str:
        """The page's HTML."""
        with self._lock:  # many viewers, one builder
            now = self._fingerprint()
            if self._made is None or self._made[0] != now:
                self._made = (now, self._build())
            return self._made[1]

    def _fingerprint(self) -> object:
        files = [p for folder in ("live", "sealed") for p in (self.store.path / folder).glob("*")]
        found = []
        for path in files:
            try:
                status = path.stat()
                found.append((path.name, status.st_size, status.st_mtime_ns))
            except OSError:  # gone meanwhile, or not to be read: the page names it then
                continue
        return sorted(found)

    def _build(self) -> str:
        found = state(self.store)
        first = section(self.store, found)
        refresh = self.refresh if found["going"] else 5 * self.refresh
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StoreWarning)  # the page names these files
            curves = self.store.curves()
        if not len(curves):
            return render(self.title, "no checkpoints yet", [first], refresh)
        try:
            # while a sweep runs, one looks at the curves first and at the laws of finished runs later
            opening = [first, learning_curves(curves)] if found["going"] else [first]
            going = [run for run, record in self.store.records().items() if record.status == "running"]
            return build(curves, self.title, refresh, [part for part in opening if part is not None], going)
        except ScalinglabError as error:  # too early for a law, say: the counts are still worth a look
            return render(self.title, f"no figures yet: {error}", [first], refresh)


@checked
def app(
    store: Store | str | Path,
    *,
    refresh: float = 5.0,
    hosts: tuple[str, ...] = LOOPBACK,
    token: str | None = None,
) -> Starlette:
    """The board as a Starlette application.

    Args:
        refresh: seconds after which the page loads itself again; five times that when nothing runs.
        hosts: names under which it may be asked for, so that no foreign page can reach it through a
            browser.
        token: that clients on other machines must give; with one, addresses of machines are names, too.
    """
    require("starlette", "board", "The board")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse
    from starlette.routing import Route

    store = Store.of(store)
    if not store.path.is_dir():
        raise BadInput(f"{store.path} does not exist; start a sweep into it, or check the path")
    page = Page(store, f"{store.path.resolve().name}: live", refresh)

    def show(_: Request) -> HTMLResponse:  # not async: Starlette runs it beside other requests
        return HTMLResponse(page.text(), headers={"Cache-Control": "no-store"})

    def status(_: Request) -> JSONResponse:
        return JSONResponse(state(store), headers={"Cache-Control": "no-store"})

    routes = [Route("/", show, methods=["GET"]), Route("/status.json", status, methods=["GET"])]
    return Starlette(routes=routes, middleware=[Middleware(Guard, names=tuple(hosts), token=token)])


@checked
def serve(
    store: Store | str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    refresh: float = 5.0,
    allow: Sequence[str] = (),
) -> None:
    """Say where on stderr, and serve the board until Ctrl-C.

    Args:
        store: what it follows.
        host: the address to listen on; other than this machine's own, clients need a token, which is printed.
        port: where it listens.
        refresh: seconds between two looks at a running sweep.
        allow: further names under which it may be asked for.
    """
    uvicorn = require("uvicorn", "board", "The board")
    if not 0 < port < 65536:
        raise BadInput(f"port={port} must lie between 1 and 65535")
    if not refresh > 0:
        raise BadInput(f"refresh={refresh:g} must be a positive number of seconds")
    hosts, token = (*LOOPBACK, *allow), None
    if not is_loopback(host):
        hosts, token = (*hosts, host, platform.node(), socket.getfqdn()), secrets.token_urlsafe(24)
    page = app(store, refresh=refresh, hosts=hosts, token=token)
    try:  # before uvicorn does, whose answer is a log and a status of its own
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise ScalinglabError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; try another port, or another host"
        ) from error
    where = Store.of(store).path
    print(f"{_address(host, port, token)} follows {where}; Ctrl-C ends it", file=sys.stderr)
    if token:
        print(
            f"warning: every machine that reaches {host} can ask for this page, and needs the token above, "
            f"which travels unencrypted. Safer: listen on 127.0.0.1 and use ssh -L {port}:localhost:{port}",
            file=sys.stderr,
        )
    uvicorn.run(page, host=host, port=port, log_level="warning", http=timed_protocol(), ws="none")


def _address(host: str, port: int, token: str | None) -> str:
    """What to type into a browser."""
    name = platform.node() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")
