"""Write small logs with the real libraries: ``python tests/readers/write_logs.py`` renews tests/readers/logs.

Every library logs the same two runs, so that one test holds for all of them. The slow tests write the logs
anew with the libraries that are installed; the quick ones read the files that are kept beside this script.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

RATES = (0.1, 0.01)
STEPS = range(10)
EVALUATED = range(0, 10, 3)
KEPT = Path(__file__).parent / "logs"


def loss(rate: float, step: int) -> float:
    """What is logged: exact in 32 bits."""
    return (2.0 if rate > 0.05 else 4.0) - step / 8


def tensorboard(folder: Path) -> None:
    """PyTorch's writer, with hyperparameters in their sub-folders, and histograms between the scalars."""
    import numpy as np
    from torch.utils.tensorboard import SummaryWriter

    for rate in RATES:
        with SummaryWriter(str(folder / f"rate-{rate}")) as writer:
            for step in STEPS:
                writer.add_scalar("Loss/train", loss(rate, step), step)
                writer.add_histogram("weights", np.arange(5.0), step)
                if step in EVALUATED:
                    writer.add_scalar("Loss/val", 2 * loss(rate, step), step, new_style=True)
            writer.add_hparams(
                {"lr": rate, "batch_size": 16, "model": "mlp", "nesterov": True}, {"best": 1.0}
            )


def wandb(folder: Path) -> None:
    """W&B offline."""
    os.environ |= {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": str(folder)}
    folder.mkdir(parents=True, exist_ok=True)
    import wandb

    for rate in RATES:
        config = {"optimizer": {"lr": rate, "betas": [0.9, 0.95]}, "batch_size": 16, "model": "mlp"}
        settings = wandb.Settings(
            x_disable_stats=True, x_disable_meta=True, console="off", disable_git=True, save_code=False,
            program="train.py", host="host", disable_code=True, disable_job_creation=True,
        )  # fmt: skip
        run = wandb.init(project="p", name=f"rate-{rate}", config=config, dir=str(folder), settings=settings)
        for step in STEPS:
            row = {"train/loss": loss(rate, step), "weights": wandb.Histogram([1, 2, 3])}
            run.log(row | ({"val/loss": 2 * loss(rate, step)} if step in EVALUATED else {}), step=step)
        run.finish()
    wandb.teardown()  # waits until the files are whole


def mlflow(folder: Path) -> None:
    """MLflow's SQLite database and file store, a run each rate in both."""
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    folder.mkdir(parents=True, exist_ok=True)
    import mlflow

    for address in (f"sqlite:///{folder}/mlflow.db", f"file://{folder}/mlruns"):
        mlflow.set_tracking_uri(address)
        mlflow.set_experiment("rates")
        for rate in RATES:
            with mlflow.start_run(run_name=f"rate-{rate}"):
                mlflow.log_params({"lr": rate, "batch_size": 16, "model": "mlp"})
                for step in STEPS:
                    mlflow.log_metric("train/loss", loss(rate, step), step=step)
                    if step in EVALUATED:
                        mlflow.log_metric("val/loss", 2 * loss(rate, step), step=step)


def lightning(folder: Path) -> None:
    """Lightning's CSVLogger, as its Trainer drives it."""
    from pytorch_lightning.loggers import CSVLogger

    for rate in RATES:
        logger = CSVLogger(str(folder), name="lightning_logs")
        logger.log_hyperparams({"lr": rate, "batch_size": 16, "model": "mlp"})
        for step in STEPS:
            logger.log_metrics({"train_loss": loss(rate, step), "epoch": step // 4}, step=step)
            if step in EVALUATED:
                logger.log_metrics({"val_loss": 2 * loss(rate, step), "epoch": step // 4}, step=step)
        logger.save()


def hugging_face(folder: Path) -> None:
    """The states, configurations and weights that the Trainer saves at its checkpoints."""
    import torch
    import transformers

    form = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=4,
        patch_size=2, num_channels=1, num_labels=2,
    )  # fmt: skip
    for rate in RATES:
        torch.manual_seed(0)
        model = transformers.ViTForImageClassification(form)
        rows = [{"pixel_values": torch.randn(1, 4, 4), "labels": k % 2} for k in range(32)]
        options = transformers.TrainingArguments(
            output_dir=str(folder / f"rate-{rate}"), max_steps=10, per_device_train_batch_size=16,
            logging_steps=1, eval_strategy="steps", eval_steps=5, save_steps=5, learning_rate=rate,
            use_cpu=True, report_to=[], disable_tqdm=True, save_only_model=True,
        )  # fmt: skip
        trainer = transformers.Trainer(model, options, train_dataset=rows, eval_dataset=rows)
        trainer.train()


WRITERS = {function.__name__: function for function in (tensorboard, wandb, mlflow, lightning, hugging_face)}
UNUSED = ("*.bin", "requirements.txt", "*.log", "training_args.bin", "preprocessor_config.json")


def renew() -> None:
    """Write all logs anew, without what no reader looks at."""
    for name, write in WRITERS.items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / name
            os.chdir(place)  # logs name the folder that they were written in
            write(folder)
            for pattern in UNUSED:
                for path in folder.rglob(pattern):
                    path.unlink()
            if (database := folder / "mlflow.db").exists():
                (folder / "mlflow.db.gz").write_bytes(gzip.compress(database.read_bytes(), 9, mtime=0))
                database.unlink()
            shutil.rmtree(KEPT / name, ignore_errors=True)
            shutil.copytree(
                folder, KEPT / name, ignore=shutil.ignore_patterns(".trash", "tags", "latest-run")
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.environ |= {"LOGNAME": "user", "USER": "user"}
    sys.exit(renew())
