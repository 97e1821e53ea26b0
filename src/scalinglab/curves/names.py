"""What other tables and logs call our columns: val_loss, eval/loss, lr, tokens, D, N, params, flops, trial.

A name is compared without capitals, marks between words and the prefixes that loggers add
(``config.lr``, ``hparams/lr``). A standard name always stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

TEST = ("test", "val", "valid", "validation", "eval", "evaluation", "dev", "heldout", "held_out", "holdout")
TRAIN = ("train", "training")
LOSS = ("loss", "nll", "cross_entropy", "cross_entropy_loss", "xent", "ce", "ce_loss", "lm_loss")
PERPLEXITY = ("ppl", "perplexity")
ERROR = ("error", "err", "error_rate", "top1_error", "top_1_error")
ACCURACY = ("accuracy", "acc", "acc1", "top1", "top1_acc", "top1_accuracy", "top_1_accuracy")

# ours: theirs, the most certain first
SETTINGS: dict[str, tuple[str, ...]] = {
    "learning_rate": ("lr", "learningrate", "peak_lr", "max_lr", "base_lr", "initial_lr", "init_lr", "eta"),
    "batch_size": (
        "bs", "bsz", "batchsize", "batch", "train_batch_size", "global_batch_size",
        "per_device_train_batch_size",
    ),
    "n_params": (
        "params", "n_parameters", "num_params", "num_parameters", "nparams", "parameters", "parameter",
        "param_count", "parameter_count", "n_param", "total_params", "model_params", "model_size", "N",
        "non_embedding_params", "params_non_embedding",
    ),
    "n_data": (
        "train_size", "n_train", "num_train", "dataset_size", "data_size", "trainset_size",
        "training_set_size", "n_samples", "num_samples", "train_samples", "n_examples", "num_examples",
        "training_examples",
    ),
    "weight_decay": ("wd", "weightdecay"),
    "momentum": ("sgd_momentum",),
    "depth": ("n_layers", "num_layers", "n_layer", "num_hidden_layers", "layers"),
    "width": ("d_model", "hidden_size", "hidden_dim", "n_embd", "width_multiplier"),
    "model": ("model_name", "arch", "architecture", "model_type"),
    "dataset": ("dataset_name", "data_set"),
    "optimizer": ("optim", "opt", "optimizer_name"),
    "seed": (
        "random_seed", "rng_seed", "random_state", "seed_id", "trial", "rep", "replicate",
        "replica", "repetition", "fold",
    ),
}  # fmt: skip
PROGRESS: dict[str, tuple[str, ...]] = {
    "step": (
        "global_step", "trainer_global_step", "train_global_step", "iter", "iters", "iteration",
        "iterations", "update", "updates", "num_updates", "train_step", "training_step", "steps",
        "training_steps",
    ),
    "epoch": ("train_epoch", "trainer_epoch", "ep", "epoch_no", "epoch_number"),
    "examples": ("examples_seen", "samples_seen", "images_seen", "n_seen"),
    "tokens": (
        "tokens_seen", "n_tokens", "num_tokens", "train_tokens", "training_tokens", "total_tokens",
        "token_count", "num_input_tokens_seen", "train_num_input_tokens_seen", "D",
    ),
    "compute": (
        "flops", "flop", "training_flops", "training_flop", "train_flops", "total_flops", "total_flos",
        "train_total_flos", "compute_flops", "C",
    ),
}  # fmt: skip
IDENTITY: dict[str, tuple[str, ...]] = {
    "run": ("run_name", "run_id", "runid", "run_uuid", "name", "exp_name", "experiment_name"),
}
# numbers that a table of results holds beside its measurements: chosen, not measured
HYPERPARAMETERS = (
    "n_heads", "num_heads", "n_head", "num_attention_heads", "dropout", "warmup", "warmup_steps",
    "warmup_ratio", "beta1", "beta2", "adam_beta1", "adam_beta2", "epsilon", "eps", "adam_epsilon",
    "label_smoothing", "context_length", "seq_len", "sequence_length", "block_size", "vocab_size",
    "max_steps", "max_epochs", "num_epochs", "epochs", "gradient_clip", "grad_clip", "clip", "d_ff",
    "ffw_size", "kv_size", "head_dim", "gradient_accumulation_steps", "temperature", "input_size",
)  # fmt: skip
_AVERAGE = ("mean", "avg", "average")  # a table of results has the means over seeds
_PREFIXES = ("config", "cfg", "params", "hparams", "hyperparameters", "hparam", "args", "metrics", "summary")
_SPLITS = {**dict.fromkeys(TEST, "test"), **dict.fromkeys(TRAIN, "train")}
_QUANTITIES = {
    **dict.fromkeys(LOSS, "loss"), **dict.fromkeys(ERROR, "error"), **dict.fromkeys(ACCURACY, "accuracy")
}  # fmt: skip
_SHORT = {"N", "D", "C"}  # letters of the papers: capitals count
_UNIT = re.compile(
    r"\s*[\[(]\s*(nats?|bits?|params|parameters|tokens|examples|images|samples|flops?|steps|#)"
    r"(\s*(/|per)\s*(token|byte|char|character))?\s*[\])]\s*$", re.IGNORECASE,
)  # fmt: skip


def bare(column: Any) -> str:
    """A name without capitals, marks, units and loggers' prefixes.

    >>> [bare(name) for name in ("config.Learning-Rate", "eval/loss", "valLoss", "_step", "Loss (nats)")]
    ['learning_rate', 'eval_loss', 'val_loss', 'step', 'loss']
    """
    return _words(_UNIT.sub("", str(column)))


def _words(column: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column)
    words = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    first, _, rest = words.partition("_")
    split_at_mark = re.match(r"[A-Za-z]+[./]", column.lstrip("_"))
    return rest if first in _PREFIXES and rest and split_at_mark else words


def measurement(column: Any) -> str | None:
    """The standard name of a loss, error or accuracy on training or test data.

    >>> [measurement(name) for name in ("val_loss", "Loss/train", "eval/acc", "Val loss (nats)", "norm")]
    ['test_loss', 'train_loss', 'test_accuracy', 'test_loss', None]
    """
    words = bare(column).split("_")
    for cut in range(1, len(words)):
        head, tail = "_".join(words[:cut]), "_".join(words[cut:])
        for split, quantity in ((head, tail), (tail, head)):
            if split in _SPLITS and quantity in _QUANTITIES:
                return f"{_SPLITS[split]}_{_QUANTITIES[quantity]}"
    return None


def loss_of_perplexity(column: Any) -> str | None:
    """The loss of which a column is the exponential: of a named split, or of none.

    >>> [loss_of_perplexity(name) for name in ("val_ppl", "Perplexity", "lambada_ppl", "log_ppl")]
    ['test_loss', 'loss', None, None]
    """
    split, _, quantity = bare(column).rpartition("_")
    if quantity not in PERPLEXITY or (split and split not in _SPLITS):
        return None
    return f"{_SPLITS[split]}_loss" if split else "loss"


def _letter(column: str) -> str:
    """The name without a logger's prefix, capitals kept: config/N is N."""
    prefix, _, rest = column.replace("/", ".").partition(".")
    return rest if prefix in _PREFIXES else column


def aliases(columns: Iterable[Any]) -> dict[str, list[Any]]:
    """For each standard name the columns that may stand for it, the most certain first.

    >>> aliases(["val_loss_avg", "val_loss", "Training (tokens)", "D (tokens)"])
    {'test_loss': ['val_loss', 'val_loss_avg'], 'tokens': ['Training (tokens)', 'D (tokens)']}
    """
    found: dict[str, list[tuple[int, Any]]] = {}
    for column in columns:
        averaged = "_".join(word for word in bare(column).split("_") if word not in _AVERAGE)
        for rank, name in enumerate((column, averaged)):
            if (measured := measurement(name)) is not None:
                found.setdefault(measured, []).append((rank, column))
                break
        named = str(column)
        for ours, rank in _roles(named) or _roles(_UNIT.sub("", named)):
            found.setdefault(ours, []).append((rank, column))
    return {ours: [c for _, c in sorted(ranked, key=lambda r: r[0])] for ours, ranked in found.items()}


def _roles(column: str) -> list[tuple[str, int]]:
    """The standard names that a column may have, a unit being a part of its name, each with its rank."""
    name, letter = _words(column), _letter(column)
    return [
        (ours, rank)
        for ours, theirs in {**IDENTITY, **SETTINGS, **PROGRESS}.items()
        for rank, word in enumerate((ours, *theirs))
        if (letter == word if word in _SHORT else name == word)
    ]
