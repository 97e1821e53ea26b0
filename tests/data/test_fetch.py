"""Getting data sets: every form is read, every byte is checked, a broken download goes on."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scalinglab import data
from scalinglab.data import fetch, loading, records, sources, tables
from scalinglab.data.loading import COARSE
from scalinglab.data.sources import Url
from scalinglab.errors import BadInput, ScalinglabError


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def idx_bytes(array: np.ndarray) -> bytes:
    sizes = np.array(array.shape, ">i4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, bytes]:
    """A tiny set in place of mnist, and an empty data folder."""
    random = np.random.default_rng(0)
    arrays = [random.integers(0, 10, shape, dtype=np.uint8) for shape in ((40, 4, 4), (40,), (8, 4, 4), (8,))]
    content = {name: idx_bytes(a) for name, a in zip(sources.SOURCES["mnist"].files, arrays, strict=True)}
    files = {name: md5(c) for name, c in content.items()}
    monkeypatch.setitem(sources.SOURCES, "mnist", replace(sources.SOURCES["mnist"], files=files, routes=()))
    monkeypatch.setenv("SCALINGLAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    loading.load_files.cache_clear()
    return content


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """A web server that understands ranges and notes what was asked for."""
    served, asked = tmp_path / "served", []
    served.mkdir()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = (served / self.path.lstrip("/")).read_bytes()
            asked.append(f"{self.path} {self.headers.get('Range', 'all')}")
            start = int(self.headers.get("Range", "bytes=0-")[6:-1])
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            self.wfile.write(content[start:])

        def log_message(self, *_: object) -> None:
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}/", served, asked
    httpd.shutdown()
    httpd.server_close()


def use_route(monkeypatch: pytest.MonkeyPatch, *routes: Url) -> None:
    old = sources.SOURCES["mnist"]
    monkeypatch.setitem(sources.SOURCES, "mnist", replace(old, routes=routes))


def test_get_goes_on_where_the_download_stopped(small, server, monkeypatch) -> None:
    url, served, asked = server
    for name, content in small.items():
        (served / f"{name}.gz").write_bytes(gzip.compress(content))
    use_route(monkeypatch, Url(tuple(f"{url}{name}.gz" for name in small)))
    first = next(iter(small))
    place = data.folder() / "mnist"
    place.mkdir(parents=True)
    part = (served / f"{first}.gz").read_bytes()[:100]
    (place / f"{first}.gz.part").write_bytes(part)
    assert data.get("mnist") == place
    assert asked[0] == f"/{first}.gz bytes=100-"
    assert data.load("mnist", normalize="none").n_data == 40
    assert data.get("mnist") == place  # already here: nothing more is asked for
    assert len(asked) == 4


def test_a_damaged_download_is_refused_and_removed(small, server, monkeypatch) -> None:
    url, served, _ = server
    for name, content in small.items():
        (served / f"{name}.gz").write_bytes(gzip.compress(content[:-1] + b"\xff"))
    use_route(monkeypatch, Url(tuple(f"{url}{name}.gz" for name in small)))
    with pytest.raises(ScalinglabError, match="expected"):
        data.get("mnist")
    assert data.available("mnist") is None
    assert list((data.folder() / "mnist").iterdir()) == []


def scrambled(packed: bytes) -> bytes:
    """A gzip file with its checksum right and its stream wrong: the first block is of no known type."""
    return packed[:10] + bytes([7]) + packed[11:]


def test_a_scrambled_download_is_refused_and_fetched_anew(small, server, monkeypatch) -> None:
    url, served, _ = server
    use_route(monkeypatch, Url(tuple(f"{url}{name}.gz" for name in small)))
    for name, content in small.items():
        (served / f"{name}.gz").write_bytes(scrambled(gzip.compress(content)))
    with pytest.raises(ScalinglabError, match="not a whole"):
        data.get("mnist")
    for name, content in small.items():
        (served / f"{name}.gz").write_bytes(gzip.compress(content))
    data.get("mnist")
    assert data.load("mnist", normalize="none").n_data == 40


@pytest.mark.parametrize("damage", ["cut", "scrambled", "other bytes"])
def test_what_is_damaged_on_disk_is_fetched_again(small, server, monkeypatch, damage: str) -> None:
    url, served, asked = server
    for name, content in small.items():
        (served / f"{name}.gz").write_bytes(gzip.compress(content))
    use_route(monkeypatch, Url(tuple(f"{url}{name}.gz" for name in small)))
    place = data.get("mnist")
    first, content = next(iter(small.items()))
    whole = gzip.compress(content)
    broken = {"cut": whole[:-20], "scrambled": scrambled(whole), "other bytes": gzip.compress(content + b"x")}
    (place / f"{first}.gz").write_bytes(broken[damage])
    with pytest.raises(ScalinglabError, match="scalinglab data get mnist"):
        data.load("mnist")
    asked.clear()
    data.get("mnist")
    assert asked == [f"/{first}.gz all"]
    assert data.load("mnist", normalize="none").n_data == 40


def test_a_connection_that_breaks_inside_a_chunk_is_told(small, monkeypatch) -> None:
    class Cut(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"ff\r\nthe beginning")
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cut)
    threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True).start()
    use_route(monkeypatch, Url((f"http://127.0.0.1:{httpd.server_port}/a.gz",)))
    with pytest.raises(ScalinglabError, match="connection broke"):
        data.get("mnist")
    httpd.shutdown()
    httpd.server_close()


def packed_set(content: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, part in content.items():
            info = tarfile.TarInfo(f"deep/inside/{name}")
            info.size = len(part)
            tar.addfile(info, io.BytesIO(part))
    return archive.getvalue()


def test_an_archive_is_unpacked_and_the_next_way_is_tried(small, server, monkeypatch) -> None:
    url, served, _ = server
    (served / "set.tar.gz").write_bytes(packed_set(small))
    unreachable = "http://127.0.0.1:9/nothing.tar.gz"
    use_route(monkeypatch, Url((unreachable,)), Url((f"{url}set.tar.gz",)))
    place = data.get("mnist")
    assert sorted(p.name for p in place.iterdir()) == sorted(small)


def test_when_no_way_works_each_reason_is_told(small, monkeypatch) -> None:
    use_route(monkeypatch, Url(("http://127.0.0.1:9/a.gz",)), Url(("http://127.0.0.1:9/b.gz",)))
    with pytest.raises(ScalinglabError, match=r"(?s)a\.gz.*b\.gz.*--from FOLDER"):
        data.get("mnist")


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_with_the_raw_files_can_be_copied(small, tmp_path: Path, packed: bool) -> None:
    origin = tmp_path / "origin" / "mnist"
    origin.mkdir(parents=True)
    for name, content in small.items():
        (origin / (f"{name}.gz" if packed else name)).write_bytes(
            gzip.compress(content) if packed else content
        )
    place = data.get("mnist", tmp_path / "origin")
    assert {p.name: p.read_bytes() for p in place.iterdir()} == small


def test_a_folder_without_the_set_is_refused(small, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="mnist"):
        data.get("mnist", tmp_path)


def test_a_missing_set_says_how_to_get_it(small) -> None:
    with pytest.raises(BadInput, match="scalinglab data get mnist"):
        data.load("mnist")


def cifar_like(monkeypatch, name: str, labels: int, tmp_path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Four images packed losslessly, under the name of a CIFAR set; returns labels and images."""
    from PIL import Image

    random = np.random.default_rng(1)
    images = random.integers(0, 256, (4, 3, 32, 32), dtype=np.uint8)
    label = random.integers(0, 10, (4, labels), dtype=np.uint8)
    record = np.concatenate([label, images.reshape(4, -1)], 1).tobytes()
    parts = [f"train{k}" for k in range(1, 6)] + ["test"]
    place = tmp_path / "data" / name
    place.mkdir(parents=True)
    picture = images.reshape(2, 2, 3, 32, 32).transpose(0, 3, 1, 4, 2).reshape(64, 64, 3)
    for part in parts:
        Image.fromarray(picture).save(place / f"{name}-{part}.webp", lossless=True)
        np.save(place / f"{name}-{part}.labels.npy", label.squeeze())
    whole = {"train.bin": record * 5, "test.bin": record}
    batches = dict.fromkeys(sources.SOURCES["cifar10"].files, record)
    files = {f: md5(c) for f, c in (batches if name == "cifar10" else whole).items()}
    monkeypatch.setitem(sources.SOURCES, name, replace(sources.SOURCES[name], files=files, routes=()))
    monkeypatch.setenv("SCALINGLAB_DATA", str(tmp_path / "data"))
    loading.load_files.cache_clear()
    return label, images


@pytest.mark.parametrize(("name", "labels"), [("cifar10", 1), ("cifar100", 2)])
def test_packed_pictures_give_the_official_records(monkeypatch, tmp_path, name: str, labels: int) -> None:
    label, images = cifar_like(monkeypatch, name, labels, tmp_path)
    loaded = data.load(name, normalize="none")
    assert np.array_equal(loaded.test_x, images)
    assert np.array_equal(loaded.train_x, np.tile(images, (5, 1, 1, 1)))
    assert np.array_equal(loaded.test_y, label[:, -1])


def test_sheets_of_the_package_give_the_official_records(tmp_path: Path) -> None:
    from PIL import Image

    random = np.random.default_rng(1)
    images = random.integers(0, 256, (6, 3, 32, 32), dtype=np.uint8)
    sheet = images.reshape(6, 3, 1024).transpose(0, 2, 1)
    for name in ("data_batch_2.png", "test_batch.png"):
        Image.fromarray(sheet).save(tmp_path / name)
    (tmp_path / "train_lables.json").write_text(str([9] * 6 + list(range(6)) + [9] * 18))
    (tmp_path / "test_lables.json").write_text(str([5, 4, 3, 2, 1, 0]))
    source = sources.SOURCES["cifar10"]
    for file, labels in (("data_batch_2.bin", range(6)), ("test_batch.bin", range(5, -1, -1))):
        content = records.from_picture(source, file, tmp_path / file.replace(".bin", ".png"))
        found_labels, found_images = records.cifar(content, 1)
        assert found_labels[:, 0].tolist() == list(labels)
        assert np.array_equal(found_images, images)


@pytest.mark.usefixtures("small")
def test_a_read_only_folder_is_named(monkeypatch, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("SCALINGLAB_DATA", str(blocked))
    with pytest.raises(ScalinglabError, match="SCALINGLAB_DATA"):
        data.get("mnist")


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "shape", "classes"),
    [
        ("mnist", 60_000, (1, 28, 28), 10),
        ("fashion-mnist", 60_000, (1, 28, 28), 10),
        ("cifar10", 50_000, (3, 32, 32), 10),
        ("cifar100", 50_000, (3, 32, 32), 100),
    ],
)
def test_the_real_set_is_read_and_verified(name: str, n: int, shape: tuple[int, ...], classes: int) -> None:
    if data.available(name) is None:
        pytest.skip(f"{name} is not here: scalinglab data get {name}")
    loaded = data.load(name)
    assert (loaded.n_data, loaded.input_shape, loaded.n_classes) == (n, shape, classes)
    assert np.bincount(loaded.test_y).min() > (90 if classes == 100 else 890)
    if name == "cifar100":
        trees = {
            loaded.classes[k] for k in np.flatnonzero(loaded.groupings["coarse"] == COARSE.index("trees"))
        }
        assert trees == {"maple tree", "oak tree", "palm tree", "pine tree", "willow tree"}
    loading.load_files.cache_clear()


def test_the_command_lists_sets() -> None:
    from scalinglab.cli.commands.files import list_sets

    document = list_sets().document
    assert [s["name"] for s in document["sets"]] == [*sources.SOURCES, *tables.table_sets()]
    assert document["sets"][0]["here"] is True


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil"])
def test_an_archive_that_would_write_elsewhere_is_refused_by_name(tmp_path: Path, name: str):
    with tarfile.open(tmp_path / "set.tgz", "w:gz") as tar:
        info = tarfile.TarInfo(name)
        info.size = 4
        tar.addfile(info, io.BytesIO(b"evil"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(link)
    (tmp_path / "box").mkdir()
    with pytest.raises(records.Damaged, match=r"set\.tgz"):
        fetch.unpack(tmp_path / "set.tgz", tmp_path / "box")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["box", "set.tgz"]
