"""Recognise column names of other tables and logs: val_loss, eval/loss, lr, tokens, D, N, params, flops.

Names are compared without capitals, separators and the prefixes of loggers (``config.lr``, ``hparams/lr``).
Standard names stay as they are. Beyond the lists, a size is recognised by a noun (params, tokens, images,
flops) with neutral words (num, total, train, seen, …), and a measurement by one quantity (loss, error, …)
with a split and neutral words. Any other word makes it a different quantity: tokens_per_second,
train_loss_scale, lambada_loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from scalinglab.curves.vocabulary import in_english

TEST = (
    "test", "val", "valid", "validation", "eval", "evaluation", "dev", "heldout", "held_out", "holdout", "cv",
    "oof", "ood",
)  # fmt: skip
TRAIN = ("train", "training")
LOSS = ("loss", "nll", "cross_entropy", "cross_entropy_loss", "xent", "ce", "ce_loss", "lm_loss")
PERPLEXITY = ("ppl", "perplexity")
ERROR = ("error", "err", "error_rate", "top1_error", "top_1_error")
ACCURACY = ("accuracy", "acc", "acc1", "top1", "top1_acc", "top1_accuracy", "top_1_accuracy")
BITS = ("bits", "bpb", "bpc", "bpt")
# used only if none of the above was measured: regression, recognition, retrieval
OTHER_LOSS = ("mse", "rmse", "nrmse", "mae", "mape", "crps", "deviance")
OTHER_ERROR = ("wer", "cer")
OTHER_ACCURACY = (
    "f1", "auc", "auroc", "iou", "miou", "exactmatch", "score", "scores", "success", "successes", "solved",
    "correct", "map", "ap", "dice", "ndcg", "mrr", "bleu", "sacrebleu", "rouge", "chrf", "meteor",
)  # fmt: skip

# shares of the data: a size if no column counts the examples
_SHARES = {"fraction", "frac", "share", "portion", "proportion"}
_OF_DATA = {"train", "training", "data", "dataset", "set", "trainset", "subset", "labels", "examples"}

# ours: theirs, the most certain first
SETTINGS: dict[str, tuple[str, ...]] = {
    "learning_rate": ("lr", "learningrate", "peak_lr", "max_lr", "base_lr", "initial_lr", "init_lr", "eta"),
    "batch_size": (
        "bs", "bsz", "batchsize", "batch", "train_batch_size", "global_batch_size", "global_batch",
        "per_device_train_batch_size",
    ),
    "n_params": (
        "params", "n_parameters", "num_params", "num_parameters", "nparams", "parameters", "parameter",
        "param_count", "parameter_count", "n_param", "total_params", "model_params", "model_size",
        "size_of_model", "network_size", "N",
        "non_embedding_params", "params_non_embedding", "n_total", "n_active",
        "active_params", "active_parameters",
    ),
    "n_data": (
        "train_size", "train_sizes", "trainsize", "ntrain", "n_train", "num_train", "dataset_size",
        "data_size", "trainset_size",
        "training_set_size", "n_samples", "num_samples", "train_samples", "n_examples", "num_examples",
        "training_examples",
    ),
    "weight_decay": ("wd", "weightdecay"),
    "momentum": ("sgd_momentum",),
    "depth": ("n_layers", "num_layers", "n_layer", "num_hidden_layers", "layers"),
    "width": ("d_model", "hidden_size", "hidden_dim", "n_embd", "width_multiplier"),
    "model": ("model_name", "arch", "architecture", "model_type", "modell"),
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
        "training_steps", "training_iteration",
    ),
    "epoch": ("train_epoch", "trainer_epoch", "ep", "epoch_no", "epoch_number"),
    "examples": ("examples_seen", "samples_seen", "images_seen", "n_seen"),
    "tokens": (
        "tokens_seen", "n_tokens", "num_tokens", "train_tokens", "training_tokens", "total_tokens",
        "token_count", "num_input_tokens_seen", "train_num_input_tokens_seen", "D",
    ),
    "compute": (
        "flops", "flop", "training_flops", "training_flop", "train_flops", "total_flops", "total_flos",
        "train_total_flos", "compute_flops", "compute_budget", "flop_budget", "flops_budget",
        "training_compute", "train_compute", "C",
    ),
}  # fmt: skip
IDENTITY: dict[str, tuple[str, ...]] = {
    "run": (
        "run_name", "run_id", "runid", "run_uuid", "name", "exp_name", "experiment_name", "job_name",
        "checkpoint_name",
    ),
}  # fmt: skip
# numbers in a table of results that were chosen, not measured
HYPERPARAMETERS = (
    "n_heads", "num_heads", "n_head", "num_attention_heads", "dropout", "warmup", "warmup_steps",
    "warmup_ratio", "beta1", "beta2", "adam_beta1", "adam_beta2", "epsilon", "eps", "adam_epsilon",
    "label_smoothing", "context_length", "seq_len", "sequence_length", "block_size", "vocab_size",
    "max_steps", "max_epochs", "num_epochs", "epochs", "gradient_clip", "grad_clip", "clip", "d_ff",
    "ffw_size", "kv_size", "head_dim", "gradient_accumulation_steps", "temperature", "input_size",
)  # fmt: skip
_SETTINGS = ("config", "cfg", "params", "hparams", "hyperparameters", "hparam", "args")
_PREFIXES = (*_SETTINGS, "metrics", "summary")
_SPLITS = {**dict.fromkeys(TEST, "test"), **dict.fromkeys(TRAIN, "train")}
_SHORT = {"N", "D", "C"}  # letters of the papers: capitals count
_UNIT = re.compile(
    r"\s*[\[(]\s*(nats?|bits?|params|parameters|tokens|examples|images|samples|flops?|steps|#|n)"
    r"(\s*(/|per)\s*(token|byte|char|character))?\s*[\])]\s*$", re.IGNORECASE,
)  # fmt: skip
# phrases that are one quantity, as names without capitals and marks have them
_PHRASES = (
    (r"(success|pass|win|hit|solve)_rate|m_?ap(_at)?(_?\d+)*", "accuracy"), (r"pass_(at_)?(\d+|k)", "score"),
    (r"(root_)?mean_squared_error|mean_absolute_error", "mse"), (r"exact_match", "exactmatch"),
    (r"(at_)?(step|iter|iteration|epoch)s?_\d+k?", "at"), (r"cross_?val(idation)?", "cv"),
    (r"word_error_rate", "wer"), (r"char(acter)?_error_rate", "cer"),
    (r"(cross_?entropy|log_?loss|ce|lm|nll|xent|language_modell?ing|token)_loss", "loss"),
    (r"cross_?entropy|log_?loss|neg(ative)?_log_likelihood", "loss"),
    (r"(mis)?classification_(error|rate)(_rate)?|misclassification|err(or)?_rate", "error"),
    (r"top_?1_(acc(uracy)?|err(or)?)|(acc(uracy)?|err(or)?)_top_?1", r"\1\4"),
    (r"(top|acc|prec)_?1", "accuracy"), (r"held_out|hold_out", "heldout"),
    (r"bits_per_(byte|token|char(acter)?)", "bits"),
)  # fmt: skip
# loss (mean ± std) and AUROC (95% CI) are the means
_INTERVAL = re.compile(r"(?:±|[+]/-) *[A-Za-z]+|[\[(](?:\d+ ?% ?)?CI[)\]]")
KINDS = {
    **dict.fromkeys(LOSS, "loss"), **dict.fromkeys(ERROR, "error"), **dict.fromkeys(ACCURACY, "accuracy"),
    **dict.fromkeys(PERPLEXITY, "perplexity"), **dict.fromkeys(BITS, "bits"),
}  # fmt: skip
_OTHER_KINDS = {
    **dict.fromkeys(OTHER_LOSS, "loss"), **dict.fromkeys(OTHER_ERROR, "error"),
    **dict.fromkeys(OTHER_ACCURACY, "accuracy"),
}  # fmt: skip
KINDS |= _OTHER_KINDS
OF_TASKS = 5  # the rank of these
SPREADS = {"std", "stdev", "sd", "stderr", "sem", "se", "ci", "ci95", "var", "variance", "spread", "stds"}
SPREADS |= {"lower", "upper", "low", "high", "margin", "uncertainty"}
# which of a run's values a measurement is, the most certain first
LAST, BEST = 2, 3
_STATISTICS = {
    **dict.fromkeys(("mean", "avg", "average", "median"), 1),
    **dict.fromkeys(("final", "last", "end", "at", "converged"), LAST),
    **dict.fromkeys(("best", "min", "max", "lowest", "highest", "minimum"), BEST),
}  # fmt: skip
_OF_MEASUREMENTS = {
    "set", "model", "lm", "llm", "the", "of", "on", "value", "metrics", "metric", "results", "result", "pct",
    "percent", "nats", "data",
}  # fmt: skip
_OF_ANY_SIZE = {
    "d", "c", "n", "num", "number", "no", "nr", "nb", "of", "count", "counts", "total", "the", "all", "in",
    "config", "cfg", "summary", "info", "meta", "sum", "train", "training", "trained", "dataset", "data",
    "run",
}  # fmt: skip
_EMBEDDING = {"embedding", "emb", "embed", "vocab", "vocabulary"}
# of each size its nouns, and the words that change nothing in them
NOUNS: dict[str, tuple[set[str], set[str]]] = {
    "n_params": (
        {"params", "parameters", "param", "parameter", "nparams", "weights"},
        {"model", "size", "dense", "active", "activated", "non", "nonembedding", *_EMBEDDING, "excl",
         "excluding", "without", "backbone", "trainable", "learnable", "network", "net", "llm", "lm",
         "transformer", "decoder", "encoder"},
    ),
    "tokens": (
        {"tokens", "token", "tok", "toks", "ntokens"},
        {"seen", "consumed", "processed", "pretraining", "pretrain", "corpus", "budget", "size", "input",
         "so", "far", "used", "on", "unique"},
    ),
    "n_data": (
        {"images", "samples", "examples", "imgs", "datapoints", "image", "sample", "example", "pairs",
         "sentences", "sentence", "utterances", "documents", "sequences", "lines", "rows", "points",
         "records", "seqs", "trajectories", "episodes", "demos", "demonstrations", "graphs", "molecules",
         "structures", "frames", "clips", "videos", "scenes", "questions", "problems", "pages",
         "instances", "observations", "bp"},
        {"set", "labeled", "labelled", "size", "used"},
    ),
    "compute": ({"flops", "flop"}, {"compute", "estimated", "est", "budget", "spent", "used", "model"}),
}  # fmt: skip
# words that make such a noun the size again: embedding parameters are not n_params, non-embedding are
_MAKE_IT_OWN = {
    "n_params": {"non", "excl", "excluding", "without", "nonembedding"},
    "n_data": {"train", "training", "trained", "dataset", "data", "labeled", "labelled"},
}
# parts of a nested name under which a size is not that of the training run
_OF_OTHERS = {
    *TEST, "embedding", "embeddings", "embed", "tokenizer", "vocab", "layer", "layers", "head", "heads",
    "attention", "attn", "mlp", "hyper", "gpu", "system", "teacher", "draft", "reference", "ref", "baseline",
    "best", "optimal",
}  # fmt: skip
_CAPS = {"max", "maximum"}  # a planned size, or that of something else
_OF_TIME = {"sec", "secs", "second", "seconds", "s", "ms", "min", "mins", "minutes", "hour", "hours", "days"}
_OF_SPEED = {*_OF_TIME, "time", "per", "rate", "ratio", "speed", "throughput", "cost"}
_COUNT_WORDS = {"n", "num", "number", "no", "nr", "count", "counts"}
# counts that are not data: of networks, machines, searches
_NO_DATA = {
    "seeds", "seed", "runs", "epochs", "epoch", "steps", "step", "iters", "iterations", "gpus", "nodes",
    "workers", "devices", "features", "feature", "classes", "class", "labels", "trees", "estimators",
    "neighbors", "experts", "blocks", "units", "neurons", "hidden", "channels", "filters", "folds", "trials",
    "ctx", "embd", "embed", "dim", "groups", "tasks", "params", "parameters", "bits", "batches", "batch",
    "splits", "repeats", "qubits", "threads",
}  # fmt: skip
# words that are recognised with one inner letter missing, wrong, added or swapped
_SLIPS = {
    word: re.compile("|".join(
        f"{word[:k]}(?:[a-z]?|{word[k]}[a-z]){word[k + 1:]}|{word[:k]}{word[k + 1]}{word[k]}{word[k + 2:]}"
        for k in range(1, len(word) - 2)
    ), re.IGNORECASE)
    for word in ("parameters", "params", "tokens", "examples", "samples", "images", "accuracy", "error",
                 "perplexity", "validation")
}  # fmt: skip
_BY_RULE = 50  # rank of a size recognised by its words, after those of the lists


def bare(column: Any) -> str:
    """A name without capitals, marks, units and loggers' prefixes.

    >>> [bare(name) for name in ("config.Learning-Rate", "eval/loss", "valLoss", "_step", "Loss (nats)")]
    ['learning_rate', 'eval_loss', 'val_loss', 'step', 'loss']
    """
    return _words(_UNIT.sub("", str(column)))


@lru_cache(maxsize=1 << 14)
def _words(column: str) -> str:
    prefix = re.match(r"_*([A-Za-z]+)[./](?=.*\w)", column)
    return in_english(column[prefix.end() :] if prefix and prefix[1].lower() in _PREFIXES else column)


def is_setting(column: str) -> bool:
    """Whether a name stands below those of settings: config.multiplier, hparams/x."""
    return re.split(r"[./]", column)[0] in _SETTINGS and bool(re.search(r"[./]", column))


def draws(columns: Iterable[str]) -> list[str]:
    """The columns with the number of draws of a score: k beside pass@k.

    >>> draws(["params", "k", "pass@k"]), draws(["n", "acc@5"])
    (['k'], [])
    """
    of = {m[1] for c in columns if (m := re.search(r"@ ?([A-Za-z]+)", c))}
    return [c for c in columns if "@" not in c and of & {*re.findall(r"[A-Za-z]+", c)}]


def spelt(column: str) -> str:
    """Correct the one word of a name in which a letter is missing, wrong, doubled or swapped.

    >>> [spelt(name) for name in ("num_paramters", "test_eror", "Toekns (B)", "n_samplers", "tokenizer")]
    ['num_parameters', 'test_error', 'tokens (B)', 'n_samplers', 'tokenizer']
    """
    words = re.findall(r"[A-Za-z]+", column)
    found = [(w, known) for w in words for known, slip in _SLIPS.items() if slip.fullmatch(w) and w != known]
    return column.replace(*found[0]) if len(found) == 1 and found[0][0].lower() != found[0][1] else column


@dataclass(frozen=True)
class Quantity:
    """What a name says was measured.

    Attributes:
        kind: loss, error, accuracy, perplexity or bits (a loss in bits).
        split: test, train, or empty.
        rank: 0 for the plain name, more for a mean, a final or a best value, and for bits.
        others: words that say something else: the data set, the task.
        is_spread: whether it is the spread of a measurement, and none itself.
    """

    kind: str
    split: str
    rank: int
    others: tuple[str, ...]
    is_spread: bool

    @property
    def name(self) -> str:
        """The standard name of a loss, error or accuracy: that of a perplexity is its loss."""
        kind = "loss" if self.kind in ("perplexity", "bits") else self.kind
        return f"{self.split}_{kind}" if self.split else kind


@lru_cache(maxsize=1 << 14)
def quantity(column: Any) -> Quantity | None:
    """The quantity that a name names; None if it names none, or several.

    >>> quantity("Top-1 val acc"), quantity("C4 loss").others, quantity("loss_std").is_spread
    (Quantity(kind='accuracy', split='test', rank=0, others=(), is_spread=False), ('c4',), True)
    """
    text = f"_{bare(_INTERVAL.sub('', str(column)))}_"
    for phrase, short in _PHRASES:
        text = re.sub(rf"(?<=_)(?:{phrase})(?=_)", short, text)
    words = text.strip("_").split("_")
    kinds = list({KINDS[word] for word in words if word in KINDS})  # "top-1 acc" says it twice
    splits = {_SPLITS[word] for word in words if word in _SPLITS}
    if len(kinds) != 1 or len(splits) > 1:
        return None
    known = {*KINDS, *_SPLITS, *_STATISTICS, *SPREADS, *_OF_MEASUREMENTS}
    others = tuple(word for word in words if word not in known)
    rank = max((_STATISTICS.get(word, 0) for word in words), default=0) + 4 * (kinds[0] == "bits")
    rank += 4 * ("(bit" in str(column).lower().replace("[", "("))
    rank += OF_TASKS * any(word in _OTHER_KINDS for word in words)
    return Quantity(kinds[0], "".join(splits), rank, others, bool(SPREADS & {*words}))


def measurement(column: Any) -> str | None:
    """The standard name of a loss, error or accuracy on training or test data.

    >>> [measurement(name) for name in ("val_loss", "Loss/train", "eval/acc", "Val loss (nats)", "norm")]
    ['test_loss', 'train_loss', 'test_accuracy', 'test_loss', None]
    """
    found = quantity(column)
    certain = found is not None and found.split and not found.others and not found.is_spread
    return found.name if found and certain and found.kind != "perplexity" else None


def without_prefix(column: str) -> str:
    """The name without a logger's prefix, capitals kept: config/N is N."""
    prefix, _, rest = column.replace("/", ".").partition(".")
    return rest if prefix in _PREFIXES else column


def aliases(columns: Iterable[Any]) -> dict[str, list[Any]]:
    """For each standard name the columns that may be it, the most certain first.

    >>> aliases(["val_loss_avg", "val_loss", "Training (tokens)", "D (tokens)"])
    {'test_loss': ['val_loss', 'val_loss_avg'], 'tokens': ['Training (tokens)', 'D (tokens)']}
    """
    found: dict[str, list[tuple[int, Any]]] = {}
    columns = list(columns)
    for column in columns:
        if (measured := measurement(column)) is not None:
            measure = quantity(column)
            of_validation = "test" not in bare(column).split("_")  # by which a model was chosen
            found.setdefault(measured, []).append(
                (2 * (measure.rank if measure else 0) + of_validation, column)
            )
        named = str(column)
        for ours, rank in _roles(named) or _roles(_UNIT.sub("", named)) or size_by_words(named):
            found.setdefault(ours, []).append((rank, column))
    for ours, column in _by_last_part(columns).items():
        found.setdefault(ours, [(_BY_RULE, column)])
    return {ours: [c for _, c in sorted(ranked, key=lambda r: r[0])] for ours, ranked in found.items()}


# the data of a run that has one row: what it was trained on, and what it has seen; and the small letters of
# papers, which `aliases` leaves to the values
_SAME_SIZE = {"n_params": ("n",), "n_data": ("tokens", "d"), "tokens": ("n_data", "d"), "compute": ("c",)}


def standing_for(columns: Iterable[Any], wanted: Iterable[str]) -> dict[Any, str]:
    """The columns that can replace standard names the table lacks: theirs to ours.

    >>> standing_for(["params", "D", "lr", "loss"], ["n_params", "n_data", "learning_rate", "batch_size"])
    {'params': 'n_params', 'D': 'n_data', 'lr': 'learning_rate'}
    """
    columns = list(columns)
    wanted = list(wanted)
    known, found = aliases(c for c in columns if c not in wanted), dict[Any, str]()
    for ours in (name for name in wanted if name not in columns):
        others = _SAME_SIZE.get(ours, ())
        theirs = next((known[name][0] for name in (ours, *others) if name in known), None)
        theirs = theirs or next((name for name in others if name in columns and name not in wanted), None)
        if theirs is not None:
            found.setdefault(theirs, ours)
    return found


def counted_twice(counts: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Split parameter counts into active and total ones; empty if all are of one kind.

    >>> counted_twice(["n_active", "n_total"]), counted_twice(["params", "N"])
    ((['n_active'], ['n_total']), ([], []))
    """
    counts = list(counts)
    active = [c for c in counts if {"active", "activated", "act"} & {*bare(c).split("_")}]
    others = [c for c in counts if c not in active]
    return (active, others) if active and others else ([], [])


def _by_last_part(columns: Iterable[Any]) -> dict[str, Any]:
    """Standard names by the last part of nested names: cfg.arch.n_params, throughput/total_tokens.

    Only if one column has it, and the parts before do not make it something else.
    """
    found: dict[str, list[Any]] = {}
    for column in columns:
        *before, last = re.split(r"[./]", str(column))
        words = {word for part in before for word in _words(part).split("_")}
        ratio = any(len(part) == 1 for part in before)  # D/N
        ratio |= bool(words & _OF_TIME)  # sec/epoch
        if before and not ratio and not words & _OF_OTHERS and " " not in str(column):
            for ours, _ in _roles(last) or size_by_words(last):
                if ours not in IDENTITY:  # config.data.name names the data
                    found.setdefault(ours, []).append(column)
    return {ours: theirs[0] for ours, theirs in found.items() if len(theirs) == 1}


def is_share(column: str) -> bool:
    """Whether a name says which part of the data was used.

    >>> [is_share(name) for name in ("data_fraction", "Fraction of train set", "warmup_fraction", "share")]
    [True, True, False, False]
    """
    words = {*bare(column).split("_")} - {"of", "the", "used"}
    return bool(words & _SHARES) and bool(words & _OF_DATA) and words <= _SHARES | _OF_DATA


@lru_cache(maxsize=1 << 14)
def _roles(column: str) -> list[tuple[str, int]]:
    """The standard names a column may have by the lists, each with its rank."""
    if is_share(column):
        return [("n_data", 2 * _BY_RULE)]
    name, letter = _words(column), without_prefix(column)
    return [
        (ours, rank)
        for ours, theirs in {**IDENTITY, **SETTINGS, **PROGRESS}.items()
        for rank, word in enumerate((ours, *theirs))
        if (letter == word if word in _SHORT else name == word)
    ]


@lru_cache(maxsize=1 << 14)
def size_by_words(column: str) -> list[tuple[str, int]]:
    """The size that all words of a name agree on, with its rank; empty if any word says something else.

    >>> [size_by_words(name) for name in ("dense_parameter_count", "tokens_per_second", "params_b")]
    [[('n_params', 52)], [], []]
    """
    words = _size_words(column)
    certain = [ours for ours in NOUNS if likely_size(column, ours) == CERTAIN]
    return [(ours, _BY_RULE + len([w for w in words if w not in NOUNS[ours][0]])) for ours in certain[:1]]


CERTAIN = 4  # the fit of a name in which every word agrees


@lru_cache(maxsize=1 << 14)
def likely_size(column: str, ours: str) -> int:
    """How well a name fits a size, from `CERTAIN` to 0: each unknown word costs one.

    Examples without a split cost one, since they may be those of the test. Any count may be the data (1).

    >>> [likely_size(n, "n_data") for n in ("train_images", "images", "web images", "n_reviews", "n_heads")]
    [4, 3, 2, 1, 0]
    >>> [likely_size(name, "tokens") for name in ("max_tokens", "generation.max_tokens", "Tokens/Parameter")]
    [1, 0, 0]
    >>> likely_size("train_clicks", "n_data")
    1
    >>> [likely_size(name, "n_params") for name in ("non_vocab_parameters", "vocab_params")]
    [4, 0]
    """
    words = _size_words(column)
    nouns, allowed = NOUNS[ours]
    rest = [word for word in words if word not in nouns]
    if "/" in column and len(rest) < len(words) and any({*rest} & NOUNS[other][0] for other in NOUNS):
        return 0  # Tokens/Parameter
    embedded = ours == "n_params" and bool(_EMBEDDING & {*rest})
    other = embedded and not {*rest} & _MAKE_IT_OWN[ours]
    other |= ours == "n_params" and "non" in rest and not embedded  # non-trainable
    if {*rest} & _OF_SPEED or other:
        return 0
    unknown = [w for w in rest if w not in allowed and w not in _OF_ANY_SIZE]
    bracket = re.search(r"[(\[]([^)\]]*)[)\]]", column)
    if bracket and {*_words(bracket[1]).split("_")} & {*unknown}:  # a unit that is not known
        return 0
    if len(rest) == len(words):
        own = {*rest} & (_MAKE_IT_OWN["n_data"] | {"seen", "consumed"})  # train_clicks, nucleotides_seen
        unknown = [w for w in unknown if w not in own]
        of_training = own and unknown and unknown[0].endswith("s")
        alone = len(unknown) == 1 or (own and not unknown)  # n_labeled
        counted = ours == "n_data" and alone and ({*rest} & _COUNT_WORDS or of_training)
        return int(bool(counted) and not {*unknown} & (_OF_OTHERS | _NO_DATA) and quantity(column) is None)
    if {*unknown} & _OF_OTHERS or any(len(word) == 1 for word in unknown):  # a letter may be a unit
        return 0
    alone = ours == "n_data" and not {*rest} & _MAKE_IT_OWN[ours]
    return max(CERTAIN - len(unknown) - alone - 2 * bool({*unknown} & _CAPS), 0)


def _size_words(column: str) -> list[str]:
    words = re.sub(r"_w_o_", "_without_", f"_{_words(column)}_")
    words = re.sub(r"([a-z]{3})(tokens?|parameters?|examples?|samples)_", r"\1_\2_", words)  # compounds
    return re.sub(r"_(n_)?([a-z]+_)?per_class_|_shots?_", "_train_examples_", words).strip("_").split("_")
