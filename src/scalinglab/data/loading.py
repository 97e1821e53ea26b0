"""`load(name)`: an image set from the data folder as a `Dataset`, verified by checksum."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from scalinglab.data import records
from scalinglab.data.dataset import Dataset
from scalinglab.data.sources import SOURCES, Debian, Source, search_path
from scalinglab.errors import BadInput, missing, nearest
from scalinglab.support.validation import checked

CLASSES = {
    "fashion-mnist": "t-shirt trouser pullover dress coat sandal shirt sneaker bag boot",
    "cifar10": "airplane automobile bird cat deer dog frog horse ship truck",
}
FINE = (
    "apple", "aquarium fish", "baby", "bear", "beaver", "bed", "bee", "beetle", "bicycle", "bottle", "bowl",
    "boy", "bridge", "bus", "butterfly", "camel", "can", "castle", "caterpillar", "cattle", "chair",
    "chimpanzee", "clock", "cloud", "cockroach", "couch", "crab", "crocodile", "cup", "dinosaur", "dolphin",
    "elephant", "flatfish", "forest", "fox", "girl", "hamster", "house", "kangaroo", "keyboard", "lamp",
    "lawn mower", "leopard", "lion", "lizard", "lobster", "man", "maple tree", "motorcycle", "mountain",
    "mouse", "mushroom", "oak tree", "orange", "orchid", "otter", "palm tree", "pear", "pickup truck",
    "pine tree", "plain", "plate", "poppy", "porcupine", "possum", "rabbit", "raccoon", "ray", "road",
    "rocket", "rose", "sea", "seal", "shark", "shrew", "skunk", "skyscraper", "snail", "snake", "spider",
    "squirrel", "streetcar", "sunflower", "sweet pepper", "table", "tank", "telephone", "television", "tiger",
    "tractor", "train", "trout", "tulip", "turtle", "wardrobe", "whale", "willow tree", "wolf", "woman",
    "worm",
)  # fmt: skip
COARSE = (
    "aquatic mammals", "fish", "flowers", "food containers", "fruit and vegetables",
    "household electrical devices", "household furniture", "insects", "large carnivores",
    "large man-made outdoor things", "large natural outdoor scenes", "large omnivores and herbivores",
    "medium-sized mammals", "non-insect invertebrates", "people", "reptiles", "small mammals", "trees",
    "vehicles 1", "vehicles 2",
)  # fmt: skip


def source_of(name: str) -> Source:
    """The description of a set, or an error that names the nearest."""
    if name not in SOURCES:
        raise BadInput(f"data set {name!r} is not known; {nearest(name, SOURCES)}")
    return SOURCES[name]


@checked
def available(name: str) -> Path | None:
    """The folder in which a set lies, or None; digits lie in scikit-learn itself."""
    source = source_of(name)
    if not source.files:
        return _bundled().parent if find_spec("sklearn") else None
    places = [base / name for base in search_path()]
    places += [Path(route.path) for route in source.routes if isinstance(route, Debian)]
    return next((place for place in places if records.find(source, place)), None)


@checked
def load(name: str, normalize: str = "channel", labels: str = "fine") -> Dataset:
    """Load an image set: digits, mnist, fashion-mnist, cifar10, cifar100 or svhn.

    Args:
        normalize: one of `scalinglab.data.NORMALIZATIONS`; pixels stay uint8, see `Dataset`.
        labels: "fine", or "coarse" for the 20 superclasses of CIFAR-100.

    >>> load("digits").summary()
    'digits: 1438 training and 359 test inputs of 1×8×8, 10 classes'
    """
    if labels not in ("fine", "coarse"):
        raise BadInput(f"labels={labels!r}; choose from: coarse, fine")
    if labels == "coarse" and name != "cifar100":
        raise BadInput(f"labels='coarse' is for cifar100; {name} has one kind of label")
    data = load_files(source_of(name).name, available(name)).normalize(normalize)
    return replace(data.superclass("coarse"), classes=COARSE) if labels == "coarse" else data


@lru_cache(maxsize=4)
def load_files(name: str, place: Path | None) -> Dataset:
    """The data set of the files in a folder; the last four are kept."""
    if name == "digits":
        return _digits()
    source = SOURCES[name]
    if place is None:
        looked = ", ".join(str(base / name) for base in search_path())
        raise BadInput(f"{name} is not on this machine (looked in {looked}); run: {source.how()}")
    found = records.find(source, place) or {}
    with ThreadPoolExecutor() as reading:
        read = reading.map(lambda item: records.read(source, *item), found.items())
        data = dict(zip(found, read, strict=True))
    if name == "cifar10":
        return _cifar10(data)
    if name == "svhn":
        return _svhn(data)
    return _cifar100(data) if name == "cifar100" else _idx_set(name, data)


Part = tuple[np.ndarray, np.ndarray]  # images and class numbers


def _dataset(name: str, train: Part, test: Part, n_classes: int, **more: Any) -> Dataset:
    zero, one = np.zeros(train[0].shape[1], np.float32), np.ones(train[0].shape[1], np.float32)
    return Dataset(name, train[0], train[1], test[0], test[1], n_classes, zero, one, **more)


def _digits() -> Dataset:
    """Every fifth image is a test image: writers are in order, so both parts see all of them."""
    table = np.loadtxt(_bundled(), delimiter=",", dtype=np.int64)
    x, y = table[:, :-1].reshape(-1, 1, 8, 8).astype(np.uint8), table[:, -1]
    test = np.arange(len(x)) % 5 == 4
    return _dataset(
        "digits", (x[~test], y[~test]), (x[test], y[test]), 10, white=16.0, classes=_digit_names()
    )


def _bundled() -> Path:
    """The file inside scikit-learn, found without importing all of it, which takes a second."""
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise missing("sklearn", "train", "data set 'digits'")
    return Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"


def _digit_names() -> tuple[str, ...]:
    return tuple(map(str, range(10)))


def _idx_set(name: str, data: dict[str, bytes]) -> Dataset:
    train_x, train_y, test_x, test_y = map(records.idx, data.values())
    classes = tuple(CLASSES[name].split()) if name in CLASSES else _digit_names()
    train = (train_x[:, None], train_y.astype(np.int64))
    return _dataset(name, train, (test_x[:, None], test_y.astype(np.int64)), 10, classes=classes)


def _cifar10(data: dict[str, bytes]) -> Dataset:
    labels, images = zip(*(records.cifar(part, 1) for part in data.values()))
    train = (np.concatenate(images[:-1]), np.concatenate(labels[:-1])[:, 0])
    return _dataset(
        "cifar10", train, (images[-1], labels[-1][:, 0]), 10, classes=tuple(CLASSES["cifar10"].split())
    )


def _svhn(data: dict[str, bytes]) -> Dataset:
    """The cropped digits, without the 531,131 additional images."""
    (train_y, train_x), (test_y, test_x) = (records.matlab(part) for part in data.values())
    return _dataset("svhn", (train_x, train_y), (test_x, test_y), 10, classes=_digit_names())


def _cifar100(data: dict[str, bytes]) -> Dataset:
    (train_y, train_x), (test_y, test_x) = (records.cifar(part, 2) for part in data.values())
    coarse = np.zeros(100, np.int64)
    coarse[train_y[:, 1]] = train_y[:, 0]
    train, test = (train_x, train_y[:, 1]), (test_x, test_y[:, 1])
    return _dataset("cifar100", train, test, 100, groupings={"coarse": coarse}, classes=FINE)
