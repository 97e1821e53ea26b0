"""The board shows a running sweep as it goes, on this machine only and for reading only."""

import asyncio
import os
import socket
import subprocess
import sys
import time

import httpx
import pytest

from scalinglab.board import app, serve
from scalinglab.board.state import state
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.store import Store
from scalinglab.sweep import Grid
from scalinglab.sweep.plan import keep_grid
from tests.browser import Browser, needs_browser


def write(store, n_data, seed, seal=True):
    run = store.start({"n_data": n_data, "seed": seed, "model": "cnn", "dataset": "digits"})
    for step in (1, 2, 4, 8, 16, 32):
        loss = n_data**-0.3 + step**-0.5 + 0.01 * seed
        run.append(
            step=step, epoch=step / 10, train_loss=loss / 2, test_loss=loss, test_error=min(1, loss / 3),
            train_error=min(1, loss / 4), norm=10 * step**0.4,
        )  # fmt: skip
    if seal:
        run.seal()
    return run


class Client:
    """Asks the application without a server."""

    def __init__(self, store):
        self.transport = httpx.ASGITransport(app=app(store))

    def ask(self, method, path, **options):
        async def send():
            async with httpx.AsyncClient(transport=self.transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    def get(self, path, **options):
        return self.ask("GET", path, **options)


client = Client


def test_the_page_follows_the_store_as_runs_come_in(tmp_path):
    store = Store(tmp_path / "runs")
    running = write(store, 100, 0, seal=False)
    board = client(store)
    assert "0 of 1 runs are over · 1 running" in board.get("/").text
    running.seal()
    write(store, 200, 0)
    page = board.get("/").text
    assert "2 of 2 runs are over · 2 done" in page
    assert "Plotly.newPlot" in page
    status = board.get("/status.json").json()
    assert (status["done"], status["running"], status["going"]) == (2, 0, False)


def test_runs_that_two_grids_share_are_counted_once(tmp_path):
    store = Store(tmp_path / "runs")
    write(store, 100, 0)
    fixed = {"model": "mlp", "dataset": "digits", "n_data": 64, "steps": 4}
    grids = [
        Grid(fixed, seeds=2),
        Grid(fixed, seeds=4),
        Grid({**fixed, "width": 1.0}, seeds=5),
    ]  # its default
    for grid in grids:
        keep_grid(grid, store, {})
    assert client(store).get("/status.json").json()["planned"] == 5


def test_a_machine_whose_clock_is_ahead_does_not_speed_up_the_sweep(tmp_path, monkeypatch):
    store = Store(tmp_path / "runs")
    here = time.time()
    for seed in range(10):  # one a minute, an hour ahead
        monkeypatch.setattr(time, "time", lambda seed=seed: here + 3600 + 60 * seed)
        write(store, 100, seed)
    monkeypatch.setattr(time, "time", lambda: here)
    assert state(store)["rate"] == pytest.approx(1, rel=0.15)


def test_failed_runs_stand_there_with_their_reason(tmp_path):
    store = Store(tmp_path / "runs")
    write(store, 100, 0)
    for seed in (1, 2):
        write(store, 100, seed, seal=False).seal("failed", error="Traceback\nValueError: <b>no</b> gradient")
    page = client(store).get("/").text
    assert "2 failed" in page
    assert "ValueError: &lt;b&gt;no&lt;/b&gt; gradient" in page  # as text, not as markup


def test_a_store_without_rows_and_one_with_a_damaged_file_get_a_page(tmp_path):
    store = Store(tmp_path / "runs")
    store.start({"n_data": 1}).close()
    assert "no checkpoints yet" in client(store).get("/").text
    write(store, 100, 0)
    path = next((tmp_path / "runs" / "sealed").glob("*.parquet"))
    path.write_bytes(b"nonsense")
    write(store, 200, 0)
    assert f"cannot be read and are left out: {path.name}" in client(store).get("/").text


def test_nobody_writes_and_no_foreign_host_reads(tmp_path):
    store = Store(tmp_path / "runs")
    write(store, 100, 0)
    before = {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    board = client(store)
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert board.ask(method, "/").status_code == 405
    assert board.get("/../sealed").status_code == 404
    assert board.get("/", headers={"host": "evil.example"}).status_code == 400
    assert {p: p.read_bytes() for p in (tmp_path / "runs").rglob("*") if p.is_file()} == before


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match="nowhere does not exist"):
        app(tmp_path / "nowhere")


SWEEP = """
import sys
from scalinglab.sweep import Grid, execute
grid = Grid(axes={"size": [1, 2, 3], "pause": [0.4]}, seeds=4, runner="tests.sweep.pretend")
execute(grid, sys.argv[1], workers=2, together=1)
"""


@needs_browser
@pytest.mark.browser
def test_in_a_browser_the_page_follows_a_running_sweep_by_itself(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    store = tmp_path / "runs"
    store.mkdir()
    address = ["board", str(store), "--port", str(port), "--refresh", "0.5"]
    board = subprocess.Popen(
        [sys.executable, "-m", "scalinglab", *address], env=environment, stderr=subprocess.DEVNULL
    )
    processes = [board]
    try:
        wait_for_port(port)
        with Browser() as browser:
            browser.open(f"http://127.0.0.1:{port}/")
            words = "document.body && document.body.innerText"
            browser.wait_for(f"/no checkpoints yet/.test({words})")
            processes.append(subprocess.Popen([sys.executable, "-c", SWEEP, str(store)], env=environment))
            browser.wait_for(f"/\\b([1-9]|1[01]) of 12 runs are over .* running/.test({words})", timeout=120)
            browser.wait_for(f"/12 of 12 runs are over · 12 done/.test({words})", timeout=120)
            browser.wait_for("document.querySelectorAll('.plot .main-svg').length > 0")
            assert browser.errors() == []
            assert set(browser.requests()) == {f"http://127.0.0.1:{port}/"}  # nothing but the page itself
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def wait_for_port(port):
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the board did not come up")


def test_a_port_that_is_taken_is_named_before_anything_is_served(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ScalinglabError, match=f"cannot listen on 127.0.0.1:{port}: .*; try another port"):
            serve(tmp_path, port=port)
    assert capsys.readouterr().err == ""
