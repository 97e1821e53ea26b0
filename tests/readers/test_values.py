"""Values of logs: tensors of TensorBoard, numbers of W&B, parameters of MLflow, rows of a trainer."""

import json
import struct
from pathlib import Path

import pytest

from scalinglab.readers import hugging_face, mlflow, tensorboard, wandb
from scalinglab.readers.logs import LoggedRun
from tests.readers.event_files import field, varint


def tensor(dtype: int, *parts: bytes, shape: tuple[int, ...] = ()) -> bytes:
    """A TensorProto with a shape where one is given."""
    sizes = b"".join(field(2, varint(1 << 3) + varint(size)) for size in shape)
    return varint(1 << 3) + varint(dtype) + (field(2, sizes) if shape else b"") + b"".join(parts)


FLOAT, DOUBLE, INT = struct.pack("<f", 1.5), struct.pack("<d", 2.5), struct.pack("<i", -3)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (tensor(1, field(4, FLOAT)), 1.5),
        (tensor(2, field(4, DOUBLE)), 2.5),
        (tensor(3, field(4, INT)), -3.0),
        (tensor(9, field(4, struct.pack("<q", -4))), -4.0),
        (tensor(2, field(4, FLOAT)), None),  # four bytes are no double
        (tensor(7, field(4, FLOAT)), None),  # text
        (field(4, FLOAT), None),  # of no known type
        (tensor(1, field(5, FLOAT)), 1.5),
        (tensor(2, field(6, DOUBLE)), 2.5),
        (tensor(1, varint(5 << 3 | 5) + FLOAT), 1.5),
        (tensor(1, field(5, FLOAT + FLOAT)), None),  # two numbers
        (tensor(3, varint(7 << 3) + varint(-3)), -3.0),
        (tensor(9, varint(10 << 3) + varint(8)), 8.0),
        (tensor(3, varint(7 << 3) + varint(1), varint(7 << 3) + varint(2)), None),
        (tensor(1, field(5, FLOAT), shape=(1, 1)), 1.5),
        (tensor(1, field(5, FLOAT), shape=(1, 3)), None),  # one value repeated three times
        (tensor(1, field(5, FLOAT), shape=(2,)), None),
    ],
)
def test_a_tensor_of_one_number_is_a_number(data: bytes, value: float | None):
    assert tensorboard.scalar(data) == value


def test_hyperparameters_of_a_run_and_nothing_else():
    def entry(name: str, value: bytes) -> bytes:
        return field(1, field(1, name.encode()) + field(2, value))

    rate = entry("lr", varint(2 << 3 | 1) + struct.pack("<d", 0.1))
    steps = entry("steps", varint(2 << 3 | 1) + struct.pack("<d", 300.0))
    flag = entry("augment", varint(4 << 3) + b"\x01")
    word = entry("model", field(3, b"cnn"))
    found = tensorboard.hyperparameters(field(2, rate) + field(3, steps + flag + word))
    assert found == {"steps": 300, "augment": True, "model": "cnn"}
    assert isinstance(found["steps"], int)
    assert tensorboard.hyperparameters(varint(3 << 3) + varint(5)) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5), ("-2e3", -2000.0), ('"NaN"', "nan"), ("NaN", "nan"), ('"Infinity"', float("inf")),
        ('"-Infinity"', float("-inf")), ('"1.5"', None), ("true", None), ("[1]", None), ("", None),
        ("1" * 402, float("inf")), ("1" * 403, None), ("1.2.3", None),
    ],
)  # fmt: skip
def test_numbers_of_wandb(text: str, value: object):
    found = wandb.plain_number(text.encode())
    assert (found != found) if value == "nan" else found == value


@pytest.mark.parametrize(
    ("given", "step"),
    [(7, 7), (2**53 - 1, 2**53 - 1), (2**53, 3), (-(2**53), 3), (float("inf"), 3), (None, 3)],
)
def test_a_row_of_wandb_has_its_own_step_where_it_is_a_whole_number(given: float | None, step: int):
    rows = {"loss": 0.5, "_runtime": 9.0} | ({} if given is None else {"_step": given})
    items = (
        field(1, field(1, name.encode()) + field(16, json.dumps(value).encode()))
        for name, value in rows.items()
    )
    run = LoggedRun("run")
    assert wandb.read_history(b"".join(items), run, 3) == step + 1
    frame, _ = run.points.frame()
    assert frame.columns.tolist() == ["step", "loss"]
    assert frame["step"].tolist() == [step]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("True", True), ("False", False), ("3", 3), ("3.0", 3), ("0.1", 0.1), ("adam", "adam"),
        ("nan", "nan"), (str(2**53 - 1), 2**53 - 1), ("1e300", 1e300), ("true", "true"),
    ],
)  # fmt: skip
def test_parameters_of_mlflow_are_numbers_again(text: str, value: object):
    found = mlflow.setting_value(text)
    assert found == value
    assert type(found) is type(value)


def safetensors(path: Path, header: object) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)


def test_parameters_are_the_elements_of_well_formed_tensors(tmp_path: Path):
    safetensors(
        tmp_path / "a.safetensors",
        {
            "w": {"shape": [3, 4]}, "scalar": {"shape": []}, "bad": {"shape": [2, -1]},
            "text": {"shape": "23"}, "real": {"shape": [2.5]}, "huge": {"shape": [2**48]}, "none": 7,
            "__metadata__": {"shape": [100]},
        },
    )  # fmt: skip
    assert hugging_face.parameters(tmp_path) == 13
    (tmp_path / "b.safetensors").write_bytes(b"\x01\x02\x03")  # its writer has only begun
    (tmp_path / "c.safetensors").write_bytes(struct.pack("<Q", 1 << 40))
    assert hugging_face.parameters(tmp_path) == 13
    safetensors(tmp_path / "d.safetensors", {"w": {"shape": [2**30, 2**30]}})
    assert hugging_face.parameters(tmp_path) == 0  # nothing has so many


def test_rows_of_the_trainer_without_clocks_and_the_means_of_its_summary():
    run = LoggedRun("run")
    hugging_face.add_entry(
        run, {"step": 5, "loss": 0.5, "train_loss": 0.4, "eval_runtime": 3.0, "grad": "NaN"}, 5
    )
    hugging_face.add_entry(run, {"train_runtime": 9.0, "train_loss": 0.6, "eval_loss": 0.3, "note": "x"}, 6)
    frame, _ = run.points.frame()
    assert sorted(frame.columns) == ["eval_loss", "grad", "loss", "step", "train_loss"]
    assert frame["train_loss"].dropna().tolist() == [0.4]
    assert frame["eval_loss"].dropna().tolist() == [0.3]


@pytest.mark.parametrize(
    ("name", "step"),
    [("checkpoint-500", 500.0), ("checkpoint-" + "9" * 19, 1e19), ("checkpoint-" + "9" * 20, float("inf")),
     ("model", float("inf"))],
)  # fmt: skip
def test_checkpoints_are_in_the_order_of_their_steps(name: str, step: float):
    assert hugging_face.checkpoint_step(Path(name) / "trainer_state.json") == pytest.approx(step)
