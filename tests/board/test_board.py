"""The board shows a running sweep as it goes, on this machine only and for reading only."""

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import time

import httpx
import pytest

from scalinglab.board import app, serve
from scalinglab.board.state import outlook, state
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.store import Store
from scalinglab.sweep import Grid
from scalinglab.sweep.plan import keep_grid
from tests.browser import Browser, needs_browser


def write(store, n_data, seed, seal=True, **meta):
    run = store.start({"n_data": n_data, "seed": seed, "model": "cnn", "dataset": "digits"}, **meta)
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


@pytest.mark.slow
def test_the_page_follows_the_store_as_runs_come_in(tmp_path):
    store = Store(tmp_path / "runs")
    running = write(store, 100, 0, seal=False)
    board = client(store)
    assert "0 of 1 runs are over · 1 running" in board.get("/").text
    running.seal()
    write(store, 200, 0)
    another = write(store, 300, 0, seal=False)
    going = board.get("/status.json").json()
    assert going["seconds_left"] == pytest.approx(60 / going["rate"]), "one run is left"
    another.seal()
    page = board.get("/").text
    assert "3 of 3 runs are over · 3 done" in page
    assert 'id="plot-0"' in page  # curves are drawn now
    status = board.get("/status.json").json()
    assert (status["done"], status["running"], status["going"]) == (3, 0, False)


@pytest.mark.slow
def test_runs_in_progress_are_drawn_and_their_time_left_is_said_but_they_are_in_no_law(tmp_path):
    store = Store(tmp_path / "runs")
    for n_data in (100, 200, 400, 800):
        write(store, n_data, 0)
    before = client(store).get("/").text
    running = write(store, 1600, 0, seal=False)
    running.append(step=64, test_error=0.5, seconds_left=90.0)
    ahead = outlook(store)
    assert (len(ahead), ahead["final loss"][0]) == (1, "no estimate yet")
    page = client(store).get("/").text
    assert "Where running runs are heading" in page
    laws = re.compile(r"<caption>Exponents</caption>.*?</table>", re.DOTALL)
    assert laws.findall(page) == laws.findall(before) != []
    running.close()


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


def test_rates_do_not_jump_with_a_foreign_clock(tmp_path, clock):
    store = Store(tmp_path / "runs")
    here = clock.now = 1e9
    running = []
    for host, (ahead, pace) in {"one": (0, 60), "other": (3600, 30), "late": (-7200, 20)}.items():
        for seed in range(10):
            clock.now = here + ahead + pace * seed
            write(store, pace, seed, host=host)
        running.append(write(store, pace, 10, seal=False, host=host))
    clock.now = here + 600
    assert state(store)["rate"] == pytest.approx(1 + 2 + 3)
    running.pop().seal()  # the third has nothing left to do
    assert state(store)["rate"] == pytest.approx(1 + 2)
    for run in running:
        run.close()
    assert state(store)["rate"] == 0


def end(process):
    process.terminate()
    process.wait()
    if process.stderr:
        process.stderr.close()


def served(tmp_path, *options, host="127.0.0.1"):
    """The board as a process, its port, and what it said."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [
        sys.executable,
        "-m",
        "scalinglab",
        "board",
        str(tmp_path),
        "--host",
        host,
        "--port",
        str(port),
    ]
    process = subprocess.Popen([*command, *options], env=environment, stderr=subprocess.PIPE, text=True)
    said = process.stderr.readline()
    for _ in range(600):
        with socket.socket(family) as probe:
            if probe.connect_ex(("::1" if ":" in host else "127.0.0.1", port)) == 0:
                return process, port, said
        time.sleep(0.1)
    raise AssertionError("the board did not come up")


@pytest.mark.slow
def test_the_board_listens_on_the_loopback_of_ipv6(tmp_path):
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    write(Store(tmp_path), 100, 0)
    process, port, said = served(tmp_path, host="::1")
    try:
        assert said.startswith(f"http://[::1]:{port}/ follows")
        assert httpx.get(f"http://[::1]:{port}/status.json").json()["done"] == 1
        answer = httpx.get(f"http://[::1]:{port}/", headers={"host": f"evil.example:{port}"})
        assert answer.status_code == 400
    finally:
        end(process)


@pytest.mark.slow
def test_slow_connections_are_closed(tmp_path):
    write(Store(tmp_path), 100, 0)
    code = "from scalinglab.board import guard; guard.REQUEST = 0.5; guard.RESPONSE = 1.0; "
    code += "import sys; from scalinglab.board import serve; serve(sys.argv[1], port=int(sys.argv[2]))"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), str(port)], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        wait_for_port(port)
        for said in (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"GET /status.json HTTP/1.1\r\n"):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as slow:
                slow.sendall(said)
                with contextlib.suppress(ConnectionError):
                    assert slow.recv(100) == b""  # closed by the board, without an answer
        assert httpx.get(f"http://127.0.0.1:{port}/status.json").status_code == 200
    finally:
        end(process)


def test_other_machines_need_the_token_and_a_name_that_is_allowed(tmp_path):
    write(Store(tmp_path), 100, 0)
    secret, names = "a-long-secret", ("127.0.0.1", "localhost", "box.lab")
    guarded = app(tmp_path, hosts=names, token=secret)

    def ask(path, client, **headers):
        async def send():
            transport = httpx.ASGITransport(app=guarded, client=(client, 1234))
            async with httpx.AsyncClient(transport=transport, base_url="http://box.lab:8000") as asking:
                return await asking.get(path, headers=headers)

        return asyncio.run(send())

    assert ask("/status.json", "127.0.0.1").status_code == 200  # through a tunnel, say
    assert ask("/status.json", "10.0.0.7").status_code == 403
    assert ask("/status.json?token=wrong", "10.0.0.7").status_code == 403
    welcome = ask(f"/status.json?token={secret}", "10.0.0.7")
    assert welcome.status_code == 200
    cookie = welcome.headers["set-cookie"].split(";")[0]
    assert "HttpOnly" in welcome.headers["set-cookie"]
    assert ask("/status.json", "10.0.0.7", cookie=cookie).status_code == 200
    assert ask("/status.json", "10.0.0.7", cookie="scalinglab_board=wrong").status_code == 403
    for name, status in {"evil.example": 400, "10.0.0.1:8000": 200, "[fe80::1]:8000": 200, "": 400}.items():
        assert ask(f"/status.json?token={secret}", "10.0.0.7", host=name).status_code == status, name


@pytest.mark.slow
def test_to_listen_for_other_machines_warns_and_prints_a_token(tmp_path):
    write(Store(tmp_path), 100, 0)
    process, port, said = served(tmp_path, "--allow", "box.lab", host="0.0.0.0")
    try:
        token = re.fullmatch(rf"http://\S+:{port}/\?token=(\S+) follows .*\n", said)[1]
        assert len(token) >= 32
        assert "warning: every machine that reaches 0.0.0.0" in process.stderr.readline()
        for name, status in {"box.lab": 200, "evil.example": 400}.items():
            answer = httpx.get(f"http://127.0.0.1:{port}/status.json", headers={"host": name})
            assert answer.status_code == status
    finally:
        end(process)


@pytest.mark.slow
def test_failed_runs_stand_there_with_their_reason(tmp_path):
    store = Store(tmp_path / "runs")
    write(store, 100, 0)
    for seed in (1, 2):
        write(store, 100, seed, seal=False).seal("failed", error="Traceback\nValueError: <b>no</b> gradient")
    page = client(store).get("/").text
    assert "2 failed" in page
    assert "ValueError: &lt;b&gt;no&lt;/b&gt; gradient" in page  # as text, not as markup


@pytest.mark.slow
def test_a_store_without_rows_and_one_with_a_damaged_file_get_a_page(tmp_path):
    store = Store(tmp_path / "runs")
    store.start({"n_data": 1}).close()
    assert "no checkpoints yet" in client(store).get("/").text
    write(store, 100, 0)
    path = next((tmp_path / "runs" / "sealed").glob("*.parquet"))
    path.write_bytes(b"nonsense")
    write(store, 200, 0)
    assert f"cannot be read and are left out: {path.name}" in client(store).get("/").text


def test_no_request_writes_and_no_foreign_host_reads(tmp_path):
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
    with pytest.raises(BadInput, match="nowhere"):
        app(tmp_path / "nowhere")


SWEEP = """
import sys
from scalinglab.sweep import Grid, execute
grid = Grid(axes={"size": [1, 2, 3], "pause": [0.4]}, seeds=4, runner="tests.sweep.pretend")
execute(grid, sys.argv[1], workers=2, max_stacked=1)
"""


@pytest.mark.nightly
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
