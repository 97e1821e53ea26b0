"""What the tangent kernel of a network costs: ours, a plain double loop of torch.func, and the floor.

    python benchmarks/ntk.py                                        small networks on a CPU
    python benchmarks/ntk.py --model resnet --width 0.5 --images 5000 --outputs pseudo mean     on a GPU

Inputs are random images: the cost does not depend on what they show. Each row is one network:

- *ours*: seconds of `measure.ntk`;
- *plain*: seconds of a double loop over blocks of examples by torch.func, one vjp for each example and output
  of one block and one jvp through the other, timed on two rows of a pair of blocks and multiplied by their
  number: what is written first, and recomputes derivatives for every pair of blocks;
- *once*: seconds of torch.func Jacobians of every example computed once and multiplied, where they fit into
  memory, timed on a few hundred examples and multiplied: linear in examples for the Jacobians, quadratic for
  the product;
- *floor*: operations that cannot be avoided, n (forward + outputs · backward) of the network and n²/2
  products of the cheaper form of every layer, at the speed of a large product on this machine;
- *error*: largest difference to the plain kernel on 32 examples, over the largest entry.
"""

import argparse
import json
import time

import torch
from torch.func import functional_call, jacrev, jvp, vjp, vmap

from scalinglab import measure, nets
from scalinglab.measure.tangent_kernel.layers import take_apart
from scalinglab.measure.tangent_kernel.products import Structured, pieces


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def timed(device, function, *arguments, **named):
    wait(device)
    start = time.perf_counter()
    found = function(*arguments, **named)
    wait(device)
    return time.perf_counter() - start, found


def single_of(model):
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    buffers = dict(model.named_buffers())
    return parameters, lambda p, x: functional_call(model, {**p, **buffers}, (x,))


def pair_of_blocks(model, left, right, outputs):
    """Σ_a Θ_aa of two blocks by vjp and jvp: rows of Jacobians of one block, pushed through the other."""
    parameters, call = single_of(model)
    n_outputs = call(parameters, left[:1]).shape[1]
    combinations = torch.eye(n_outputs, device=left.device)
    if outputs == "pseudo":
        combinations = torch.full((1, n_outputs), n_outputs**-0.5, device=left.device)

    def row(one):
        _, back = vjp(lambda p: call(p, one[None])[0], parameters)

        def for_output(direction):
            (gradient,) = back(direction)
            _, pushed = jvp(lambda p: call(p, right), (parameters,), (gradient,))
            return pushed @ direction

        return torch.stack([for_output(direction) for direction in combinations]).sum(0)

    return torch.stack([row(one) for one in left])


def once(model, x, outputs):
    """Jacobians by torch.func, and seconds of them and of their product."""
    parameters, call = single_of(model)
    n_outputs = call(parameters, x[:1]).shape[1]

    def combined(p, one):
        found = call(p, one[None])[0]
        return found.sum(0, keepdim=True) / n_outputs**0.5 if outputs == "pseudo" else found

    device = x.device.type
    parts = []
    seconds = 0.0
    for part in torch.split(x, 32):
        spent, found = timed(device, vmap(jacrev(combined), in_dims=(None, 0)), parameters, part)
        seconds += spent
        parts.append(torch.cat([block.flatten(2) for block in found.values()], -1).flatten(1))
    table = torch.cat(parts)
    product, gram = timed(device, lambda: table.double() @ table.double().T)
    return seconds, product, gram


def speed(device):
    """Operations a second of a product in double precision, and of one in single precision."""
    found = []
    for dtype in (torch.float64, torch.float32):
        size = 8192 if device == "cuda" else 1024
        a = torch.randn(size, size, dtype=dtype, device=device)
        a @ a
        found.append(2 * size**3 / min(timed(device, torch.matmul, a, a)[0] for _ in range(3)))
    return found


def floor(model, shape, n, outputs, device, x):
    cost = measure.flops(model, shape)
    anatomy = take_apart(model.eval(), x[:1])
    directions = 1 if outputs == "pseudo" else anatomy.directions.shape[1]
    anatomy = take_apart(model.eval(), x[:1], torch.eye(anatomy.directions.shape[1])[:directions])
    double, plain = speed(device)
    network = n * (cost.forward + directions * (cost.step - cost.forward)) / plain
    pairs = 0.0
    for piece in pieces(anatomy, n, 10**15):
        if isinstance(piece, Structured):
            channels, inputs, positions = piece.layer.shape
            pairs += 2 * positions**2 * (inputs + directions * channels)
        else:
            pairs += 2 * sum(a * b for a, b in piece.shapes)
    return network + n**2 * pairs / 2 / double, cost.n_params  # the kernel is symmetric


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", nargs="+", default=["mlp", "cnn", "resnet"])
    parser.add_argument("--width", type=float, nargs="+", default=[0.25])
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--outputs", nargs="+", default=["mean"], choices=["mean", "pseudo"])
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--size", type=int, default=16, help="Pixels of a side.")
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--out", help="A JSON file for the rows.")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.allow_tf32 = False  # as ours does it
    print(
        f"{device}, {arguments.images} images of {arguments.size} pixels, {arguments.classes} outputs",
        flush=True,
    )
    columns = ("params", "outputs", "ours", "plain", "once", "floor", "plain/ours", "ours/floor", "error")
    print(f"{'network':22s} " + " ".join(f"{name:>10s}" for name in columns), flush=True)
    rows = []
    for name in arguments.model:
        for width in arguments.width:
            for outputs in arguments.outputs:
                row = measured(name, width, outputs, arguments, device)
                rows.append(row)
                numbers = [row[column] for column in ("ours", "plain", "once", "floor")]
                ratios = row["plain"] / row["ours"], row["ours"] / row["floor"]
                print(
                    f"{name:15s} {width:6g} {row['n_params']:10d} {outputs:>10s} "
                    + " ".join(f"{value:10.3g}" for value in (*numbers, *ratios, row["error"])),
                    flush=True,
                )
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"device": device, "arguments": vars(arguments), "rows": rows}, file, indent=1)


def measured(name, width, outputs, arguments, device):
    shape = (3, arguments.size, arguments.size)
    model = nets.build(name, shape, arguments.classes, width=width, seed=0).to(device).eval()
    n = arguments.images
    x = torch.randn(n, *shape, generator=torch.Generator().manual_seed(0)).to(device)
    measure.ntk(model, x[:64], outputs=outputs)  # libraries load and choose
    ours, gram = timed(device, measure.ntk, model, x, outputs=outputs)
    print(f"  {name} {width:g} {outputs}: ours {ours:.2f} s", flush=True)
    few, block = min(n, 32), min(arguments.block, n)
    pair_of_blocks(model, x[:1], x[:2], outputs)
    pair, _ = timed(device, pair_of_blocks, model, x[:2], x[:block], outputs)  # two rows of a pair of blocks
    plain = pair / 2 * n * (n / block) / 2  # rows times columns of blocks, half of them by symmetry
    some = min(n, 256, max(32, int(2e9 / sum(p.numel() for p in model.parameters()) / arguments.classes)))
    jacobians, product, _ = once(model, x[:some], outputs)
    expected = once(model, x[:few], outputs)[2].cpu().numpy() / (
        arguments.classes if outputs == "mean" else 1
    )
    error = abs(gram[:few, :few] - expected).max() / expected.max()
    lowest, n_params = floor(model, shape, n, outputs, device, x)
    return {
        "model": name, "width": width, "outputs": outputs, "n_params": n_params, "ours": ours, "plain": plain,
        "once": jacobians * n / some + product * (n / some) ** 2, "floor": lowest, "error": float(error),
    }  # fmt: skip


if __name__ == "__main__":
    main()
