"""A headless Chromium for the tests, driven through its debugging pipe (no driver, no extra package)."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install 'chromium'")


class Browser:
    """One page in a headless browser, with everything that it logged and asked for."""

    def __init__(self, width: int = 1280, height: int = 1000) -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        command = [
            str(CHROMIUM), *FLAGS, f"--user-data-dir={self.profile.name}", f"--window-size={width},{height}",
            "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        # Chromium reads commands on descriptor 3 and answers on 4
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self.count, self.buffer, self.events = 0, b"", list[dict[str, Any]]()
        self.session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.profile.cleanup()

    def call(self, method: str, timeout: float = 90.0, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; events that come in between are kept."""
        self.count += 1
        number = self.count
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            received = self._receive(end - time.monotonic())
            self.events += [each for each in received if "id" not in each]  # also those behind the answer
            for answer in (each for each in received if each.get("id") == number):
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
        raise TimeoutError(f"{method} was not answered within {timeout} s")

    def _receive(self, timeout: float) -> list[dict[str, Any]]:
        if not select.select([self.back], [], [], max(timeout, 0))[0]:
            return []
        self.buffer += os.read(self.back, 1 << 20)
        *messages, self.buffer = self.buffer.split(b"\0")
        return [json.loads(m) for m in messages]

    def open(self, address: str | Path) -> None:
        """Open a file or an address."""
        self.call("Page.navigate", url=address.as_uri() if isinstance(address, Path) else address)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return result["result"].get("value")

    def wait_for(self, expression: str, timeout: float = 60.0) -> None:
        """Wait until the expression is true."""
        end = time.monotonic() + timeout
        while not self.evaluate(f"Boolean({expression})"):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.1)

    def open_report(self, path: Path) -> int:
        """Open a report, wait until a curve is drawn in every plot, and count the plots."""
        self.open(path)
        self.wait_for("document.querySelectorAll('.plot').length > 0 && document.readyState == 'complete'")
        self.wait_for("[...document.querySelectorAll('.plot')].every(plot => plot.querySelector('.trace'))")
        return int(self.evaluate("document.querySelectorAll('.plot').length"))

    def screenshot(self, path: str | Path, whole_page: bool = True) -> Path:
        """A picture of the page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole_page)["data"]
        Path(path).write_bytes(base64.b64decode(data))
        return Path(path)

    def errors(self) -> list[str]:
        """Uncaught exceptions and errors that the page logged."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            if event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in (
                "error",
                "assert",
            ):
                found.append(str(parameters["args"]))
            if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(str(parameters["entry"]["text"]))
        return found

    def requests(self) -> list[str]:
        """Addresses that the page asked for, other than files and data that it carries itself."""
        sent = [
            e["params"]["request"]["url"]
            for e in self.events
            if e.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in sent if not url.startswith(("file:", "data:", "blob:", "about:"))]
