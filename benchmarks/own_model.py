"""Networks of one's own: `run_many` beside a plain PyTorch loop and a stack written by hand, in one run.

    python benchmarks/own_model.py                    # 50 small perceptrons on the CPU
    python benchmarks/own_model.py --part gpu         # Mixer, GPT and tabular regression on a GPU, 16 runs
    python benchmarks/own_model.py --part stacks      # the size of the stack on the CPU

All train the same networks for the same steps on batches of the same size and measure the test loss at the
same steps. What loads or compiles something for the first time is done before the clock starts. The plain
loop trains a part of the runs, a fifth on the CPU and a quarter on a GPU, and its time is multiplied.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import scalinglab as sl
from scalinglab.train.setting import Setting

TRAINING = 32  # training examples that `run_many` measures beside the test set, which the others do not
QUICK = 40  # steps of what comes before the clock


class Perceptron(nn.Module):
    """Two hidden layers."""

    def __init__(self, inputs: int = 20, width: int = 32, outputs: int = 10) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.layers(x)  # type: ignore[no-any-return]


class Regressor(nn.Module):
    """Tabular regression: features to one number, with layer norm and residual blocks."""

    def __init__(self, inputs: int = 32, width: int = 64, depth: int = 3) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(inputs, width), nn.Linear(width, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
            for _ in range(depth)
        )

    def forward(self, x: Tensor) -> Tensor:
        """One number an example."""
        h = self.first(x)
        for block in self.blocks:
            h = h + block(h)
        return self.last(h)[:, 0]


class Mixer(nn.Module):
    """MLP-Mixer (Tolstikhin et al. 2021) on images of 16 × 16."""

    def __init__(self, patch: int = 4, dim: int = 48, depth: int = 3, classes: int = 10) -> None:
        super().__init__()
        tokens = (16 // patch) ** 2
        self.patches = nn.Conv2d(3, dim, patch, stride=patch)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2 * depth))
        self.across = nn.ModuleList(_two_layers(tokens, 2 * tokens) for _ in range(depth))
        self.within = nn.ModuleList(_two_layers(dim, 2 * dim) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        h = self.patches(x).flatten(2).transpose(1, 2)
        for k, (across, within) in enumerate(zip(self.across, self.within)):
            h = h + across(self.norms[2 * k](h).transpose(1, 2)).transpose(1, 2)
            h = h + within(self.norms[2 * k + 1](h))
        return self.head(h.mean(1))  # type: ignore[no-any-return]


def _two_layers(size: int, hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Linear(hidden, size))


class GPT(nn.Module):
    """A small decoder."""

    def __init__(
        self, vocabulary: int = 64, context: int = 32, dim: int = 48, depth: int = 2, heads: int = 4
    ) -> None:
        super().__init__()
        self.heads, self.tokens = heads, nn.Embedding(vocabulary, dim)
        self.positions = nn.Parameter(0.02 * torch.randn(context, dim))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2 * depth + 1))
        self.attention = nn.ModuleList(nn.Linear(dim, 3 * dim) for _ in range(depth))
        self.output = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.mlp = nn.ModuleList(_two_layers(dim, 4 * dim) for _ in range(depth))
        self.head = nn.Linear(dim, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the next token at every position."""
        h = self.tokens(tokens) + self.positions
        for k, (attention, output, mlp) in enumerate(zip(self.attention, self.output, self.mlp)):
            split = attention(self.norms[2 * k](h)).unflatten(-1, (3, self.heads, -1))
            q, key, v = split.permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, key, v, is_causal=True)
            h = h + output(mixed.transpose(1, 2).flatten(2))
            h = h + mlp(self.norms[2 * k + 1](h))
        return self.head(self.norms[-1](h))  # type: ignore[no-any-return]


def next_token(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross entropy at every position."""
    return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())


Data = tuple[Tensor, Tensor, Tensor, Tensor]


def vectors(n: int = 2000, test: int = 500, inputs: int = 20, classes: int = 10) -> Data:
    """Classes of a random linear teacher."""
    x = torch.randn(n + test, inputs)
    y = (x @ torch.randn(inputs, classes)).argmax(1)
    return x[:n], y[:n], x[n:], y[n:]


def table(n: int = 4000, test: int = 1000, inputs: int = 32) -> Data:
    """A smooth function of some columns."""
    x = torch.randn(n + test, inputs)
    y = torch.sin(x[:, :4]).sum(1) + 0.1 * torch.randn(n + test)
    return x[:n], y[:n], x[n:], y[n:]


def images(n: int = 2000, test: int = 500) -> Data:
    """Noisy copies of ten pictures."""
    y = torch.randint(0, 10, (n + test,))
    x = torch.randn(10, 3, 16, 16)[y] + 2 * torch.randn(n + test, 3, 16, 16)
    return x[:n], y[:n], x[n:], y[n:]


def tokens(n: int = 2000, test: int = 250, context: int = 32) -> Data:
    """Sequences that count in steps of their own."""
    begin, stride = torch.randint(0, 64, (2, n + test, 1))
    x = (begin + stride * torch.arange(context + 1)) % 64
    return x[:n, :-1], x[:n, 1:], x[n:, :-1], x[n:, 1:]


# --- the same training, three times ------------------------------------------------------------------------


def checkpoints(setting: dict[str, Any]) -> set[int]:
    """Steps at which the test loss is measured."""
    full = Setting(model="mlp", dataset="digits", **{k: v for k, v in setting.items() if k != "n_data"})
    return set(full.checkpoints(setting["n_data"]).tolist())


def plain_loop(
    model: type[nn.Module], data: Data, loss: Callable[..., Tensor], setting: dict[str, Any], seeds: int,
    device: str,
) -> float:  # fmt: skip
    """One network after another; seconds."""
    x, y, test_x, test_y = (part.to(device) for part in data)
    measured, n, batch = checkpoints(setting), setting["n_data"], setting["batch_size"]
    start = time.perf_counter()
    for seed in range(seeds):
        torch.manual_seed(seed)
        network = model().to(device)
        optimizer = torch.optim.AdamW(network.parameters(), lr=setting["learning_rate"])
        order = torch.randperm(n, device=device)
        for step in range(1, setting["steps"] + 1):
            if step * batch % n < batch:
                order = torch.randperm(n, device=device)
            index = order[torch.arange((step - 1) * batch, step * batch, device=device) % n]
            optimizer.zero_grad()
            loss(network(x[index]), y[index]).backward()
            optimizer.step()
            if step in measured:
                with torch.no_grad():
                    float(loss(network(test_x), test_y))
    return time.perf_counter() - start


def by_hand(
    model: type[nn.Module], data: Data, loss: Callable[..., Tensor], setting: dict[str, Any], seeds: int,
    device: str,
) -> float:  # fmt: skip
    """All networks as one stack, as the tutorial of `torch.func` writes it; seconds."""
    x, y, test_x, test_y = (part.to(device) for part in data)
    measured, n, batch = checkpoints(setting), setting["n_data"], setting["batch_size"]
    start = time.perf_counter()
    networks = []
    for seed in range(seeds):
        torch.manual_seed(seed)
        networks.append(model().to(device))
    base = model().to("meta")
    weights, _ = stack_module_state(networks)  # type: ignore[arg-type]
    optimizer = torch.optim.AdamW(list(weights.values()), lr=setting["learning_rate"])

    def single(own: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return loss(functional_call(base, own, (x,)), y)

    stacked, shared = torch.vmap(single), torch.vmap(single, in_dims=(0, None, None))
    order = torch.stack([torch.randperm(n, device=device) for _ in range(seeds)])
    for step in range(1, setting["steps"] + 1):
        if step * batch % n < batch:
            order = torch.stack([torch.randperm(n, device=device) for _ in range(seeds)])
        index = order[:, torch.arange((step - 1) * batch, step * batch, device=device) % n]
        optimizer.zero_grad()
        with sdpa_kernel(SDPBackend.MATH):  # others do not know stacks on every GPU
            stacked(weights, x[index], y[index]).sum().backward()
        optimizer.step()
        if step in measured:
            with torch.no_grad():
                shared(weights, test_x, test_y).tolist()
    return time.perf_counter() - start


def ours(
    model: type[nn.Module], data: Data, loss: Callable[..., Tensor], setting: dict[str, Any], seeds: int,
    device: str, max_stacked: int | None = None,
) -> float:  # fmt: skip
    """`run_many`; seconds."""
    start = time.perf_counter()
    settings = sl.grid(**setting, seed=list(range(seeds)), measure=[], evaluate_at_most=TRAINING)
    sl.train.run_many(
        settings, model=model, data=data, loss=loss, optimizer=torch.optim.AdamW, device=device,
        max_stacked=max_stacked, progress=False,
    )  # fmt: skip
    return time.perf_counter() - start


def side_by_side(
    name: str, task: tuple[Any, ...], setting: dict[str, Any], runs: int, device: str, share: int, rounds: int
) -> dict[str, Any]:
    """Seconds of all three, each the best of some rounds, and the ratios."""
    quick = {**setting, "steps": QUICK}
    ways = {"plain loop": plain_loop, "run_many": ours, "stack by hand": by_hand}
    seconds = dict.fromkeys(ways, float("inf"))
    for way in ways.values():
        way(*task, quick, 2, device)
    for _ in range(rounds):
        for label, way in ways.items():
            few = runs // share if label == "plain loop" else runs
            seconds[label] = min(seconds[label], way(*task, setting, few, device) * (runs / few))
    plain, own, hand = (round(value, 3) for value in seconds.values())
    row = {
        "task": name,
        "runs": runs,
        "steps": setting["steps"],
        "plain_s": plain,
        "own_s": own,
        "hand_s": hand,
    }
    return {**row, "times_plain": round(plain / own, 2), "times_by_hand": round(hand / own, 2)}


def main() -> None:
    """Print a table, and the same as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=("cpu", "gpu", "stacks"), default="cpu")
    parser.add_argument("--steps", type=int, help="of every run")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--rounds", type=int, default=1, help="the best of so many counts")
    asked = parser.parse_args()
    torch.manual_seed(0)
    cpu = {"n_data": 2000, "batch_size": 32, "learning_rate": 3e-3, "checkpoints_per_decade": 4}
    rows = []
    if asked.part == "stacks":
        setting = {**cpu, "steps": asked.steps or 300}
        task = (Perceptron, vectors(), F.cross_entropy)
        ours(*task, {**cpu, "steps": QUICK}, 2, "cpu")
        for stack in (1, 4, 16, 32, 64):
            took = ours(*task, setting, asked.runs or 64, "cpu", max_stacked=stack)
            rows.append({"stack": stack, "runs": asked.runs or 64, "seconds": round(took, 3)})
    elif asked.part == "cpu":
        setting = {**cpu, "steps": asked.steps or 2000}
        task = (Perceptron, vectors(), F.cross_entropy)
        rows.append(side_by_side("perceptron", task, setting, asked.runs or 50, "cpu", 5, asked.rounds))
    else:
        tasks: dict[str, tuple[Any, ...]] = {
            "mixer": (Mixer, images(), F.cross_entropy), "gpt": (GPT, tokens(), next_token),
            "regression": (Regressor, table(), F.mse_loss),
        }  # fmt: skip
        setting = {**cpu, "steps": asked.steps or 1500}
        for name, task in tasks.items():
            rows.append(side_by_side(name, task, setting, asked.runs or 16, "cuda", 4, asked.rounds))
            print(rows[-1], flush=True)
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    print(
        json.dumps(
            {"part": asked.part, "torch": torch.__version__, "threads": torch.get_num_threads(), "rows": rows}
        )
    )


if __name__ == "__main__":
    main()
