"""The loop that people write, and its data: what the engine is compared with."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from training_parts.results import Results

BATCH = 128


def dataset_name(name: str) -> str:
    from scalinglab import data

    if data.available(name) is None:
        print(f"{name} is not here (scalinglab data get {name}): random images of its shape instead")
        make_random(name)
    return name


def make_random(name: str) -> None:
    """Random images in place of a set that is not here: speed does not depend on what they show."""
    from scalinglab.data import loading
    from scalinglab.data.dataset import Dataset
    from scalinglab.data.sources import SOURCES

    source = SOURCES[name]
    shape, classes = source.shape, source.n_classes
    random = np.random.default_rng(0)
    parts = []
    for size in (source.n_train, source.n_test):
        parts += [random.integers(0, 256, (size, *shape), dtype=np.uint8), random.integers(0, classes, size)]
    zero, one = np.zeros(shape[0], np.float32), np.ones(shape[0], np.float32)
    made = Dataset(name, *parts, classes, zero, one)
    loading.load_files = lambda *_: made
    loading.available = lambda _: Path()
    import scalinglab.data as data

    data.available = loading.available


def plain_loop(model_name: str, dataset: str, n_data: int, device: str, epochs: int = 2) -> dict:
    """The loop that most people write: milliseconds a step over whole epochs, and within an epoch.

    Whole epochs count the start of the loader's workers, which the default loader repeats every epoch.
    """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    from scalinglab import data, nets

    loaded = data.load(dataset).subset(n_data)
    loader = DataLoader(
        Images(loaded), batch_size=BATCH, shuffle=True, num_workers=4, pin_memory=device == "cuda"
    )
    torch.manual_seed(0)
    model = nets.build(model_name, loaded.input_shape, 10).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    whole, inside, running = [], [], 0.0
    for _ in range(1 + epochs):  # the first one warms up
        start = time.perf_counter()
        for step, (images, labels) in enumerate(loader, 1):
            images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            running += loss.item()
            if step == 1:
                first = time.perf_counter()
        end = time.perf_counter()
        whole.append((end - start) / step)
        inside.append((end - first) / max(step - 1, 1))
    timed = slice(1 if epochs else 0, None)
    return {"ms": 1e3 * float(np.mean(whole[timed])), "within_ms": 1e3 * float(np.mean(inside[timed]))}


class Images:
    """A map-style data set with the usual per-image transforms."""

    def __init__(self, loaded) -> None:
        self.images = np.ascontiguousarray(loaded.train_x.transpose(0, 2, 3, 1))
        self.labels = loaded.train_y
        mean, std = (loaded.offset / 255).tolist(), (loaded.scale / 255).tolist()
        self.transform = usual_transform(mean, std) or PlainTransform(mean, std)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int):
        from PIL import Image

        image = self.images[index]
        picture = Image.fromarray(image if image.shape[-1] == 3 else image[..., 0])
        return self.transform(picture), int(self.labels[index])


def usual_transform(mean: list[float], std: list[float]):
    """ToTensor and Normalize of torchvision; None where it is not installed."""
    try:
        from torchvision import transforms
    except ImportError:
        return None
    return transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean, std)])


class PlainTransform:
    """ToTensor and Normalize as torchvision carries them out, where it is not installed.

    Not only the same values but the same tensor operations, image by image: they are what a worker spends
    its time on. The part `transforms` times both where torchvision is installed.
    """

    def __init__(self, mean: list[float], std: list[float]) -> None:
        self.mean, self.std = mean, std

    def __call__(self, picture):
        import torch

        pixels = torch.from_numpy(np.array(picture, np.uint8, copy=True))
        pixels = pixels.view(picture.size[1], picture.size[0], len(picture.getbands()))
        image = pixels.permute(2, 0, 1).contiguous().to(torch.get_default_dtype()).div(255)

        image = image.clone()  # not in place by default
        mean, std = (
            torch.as_tensor(v, dtype=image.dtype, device=image.device) for v in (self.mean, self.std)
        )
        if (std == 0).any():
            raise ValueError("a channel of the images has no spread")
        return image.sub_(mean.view(-1, 1, 1)).div_(std.view(-1, 1, 1))


def transforms_part(part: str, results: Results) -> None:
    """Microseconds of CPU an image: torchvision's transforms, and the stand-in where it is missing."""
    import torch
    from PIL import Image

    torch.set_num_threads(1)
    images = np.random.default_rng(0).integers(0, 256, (3000, 32, 32, 3), dtype=np.uint8)
    mean, std = [0.49, 0.48, 0.45], [0.25, 0.24, 0.26]
    theirs, ours = usual_transform(mean, std), PlainTransform(mean, std)
    if theirs is None:
        print("  torchvision is not installed (pip install torchvision): nothing to compare with")

    def cost(transform) -> dict:
        start = time.process_time()
        for image in images:
            transform(Image.fromarray(image))
        return {"image_us": 1e6 * (time.process_time() - start) / len(images)}

    for turn in range(3):
        for label, transform in (("torchvision", theirs), ("stand-in", ours)):
            if transform is not None:
                row = results.add(part, f"{label}, turn {turn}", lambda transform=transform: cost(transform))
                print(f"      {row['image_us']:.0f} µs of CPU an image")
