"""Who may read the board: names under which it is asked for, a token for other machines, and time limits."""

from __future__ import annotations

import ipaddress
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "scalinglab_board"
REQUEST, RESPONSE = 10.0, 60.0  # seconds that a client may take to ask, and to take the answer


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine's own.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def host_of(header: str) -> str:
    """The name in a Host header, without the port and the brackets of IPv6.

    >>> host_of("[::1]:8000"), host_of("Localhost:8000"), host_of("127.0.0.1")
    ('::1', 'localhost', '127.0.0.1')
    """
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


class Guard:
    """Passes on requests with a known host name and, from other machines, a valid token.

    Protects against DNS rebinding: a foreign page may resolve its own host name to this machine, but its
    requests carry that name and are rejected. With a token, the machine's IP address is accepted too.

    Args:
        app: the application.
        names: under which it may be asked for.
        token: that clients on other machines must give, as ``?token=`` or as the cookie that is then set;
            None where only this machine is served.
    """

    def __init__(self, app: Any, names: tuple[str, ...] = LOOPBACK, token: str | None = None) -> None:
        self.app, self.token = app, token
        self.names = {name.lower() for name in names}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = host_of(headers.get("host", ""))
        if host not in self.names and not (self.token and _address(host)):
            await _refuse(send, 400, "Not served under this name: scalinglab board --allow NAME")
            return
        client = scope.get("client") or ("127.0.0.1", 0)
        if self.token is None or is_loopback(client[0]):
            await self.app(scope, receive, send)
            return
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        kept = _cookie(headers.get("cookie", ""))
        if not any(secrets.compare_digest(word.encode(), self.token.encode()) for word in (given, kept)):
            await _refuse(send, 403, "This board asks for its token: open the address that it printed.")
            return
        await self.app(scope, receive, self._remembering(send) if given else send)

    def _remembering(self, send: Any) -> Any:
        """Set the cookie along with the answer."""

        async def wrapped(message: Any) -> None:
            if message["type"] == "http.response.start":
                text = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                message = {**message, "headers": [*message["headers"], (b"set-cookie", text.encode())]}
            await send(message)

        return wrapped


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


async def _refuse(send: Any, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def timed_protocol() -> type:
    """The server's HTTP protocol with limits on how long a client may take to ask and to take the answer."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class TimedProtocol(H11Protocol):
        """Closes connections on which nothing was completed for a while."""

        _seen: Any = None
        _waited = 0.0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(REQUEST, self._look)

        def _look(self) -> None:
            """Every few seconds: is this still the request that it was, or the wait for one?"""
            if self.transport.is_closing():
                return
            same = self.cycle is self._seen
            self._waited = self._waited + REQUEST if same else 0.0
            self._seen = self.cycle
            answering = self.cycle is not None and not self.cycle.response_complete
            if self._waited >= (RESPONSE if answering else REQUEST):
                self.transport.abort()
                return
            self.loop.call_later(REQUEST, self._look)

    return TimedProtocol
