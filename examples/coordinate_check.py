"""Which parameterization keeps what, as a network grows wider: the coordinate check.

An MLP is made eight times wider; the table shows by which power of width things grow.
"""

import math

import torch

import scalinglab as sl

WIDTHS, SEEDS, RATE = (1, 8), 5, 1e-3
x = torch.randn(16, 1, 8, 8, generator=torch.Generator().manual_seed(0))
direction = torch.randn(16, 10, generator=torch.Generator().manual_seed(1))


def observe(width, scheme):
    """Mean squares of the outputs and of the changes, in one step of SGD, of hidden layer and outputs."""
    sums = torch.zeros(3)
    for seed in range(SEEDS):
        model = sl.nets.build("mlp", (1, 8, 8), 10, width=width, parameterization=scheme, seed=seed)
        seen = []
        model.body[3].register_forward_hook(lambda module, inputs, output, seen=seen: seen.append(output))
        before = model(x)
        gradients = torch.autograd.grad((before * direction).mean(), list(model.parameters()))
        scales = sl.nets.learning_rate_scales(model, "sgd")
        with torch.no_grad():
            for (name, parameter), gradient in zip(model.named_parameters(), gradients, strict=True):
                parameter -= RATE * scales[name] * gradient
            after = model(x)
            sums += torch.stack([t.square().mean() for t in (before, seen[1] - seen[0], after - before)])
    return sums / SEEDS


print(f"{'':10s}{'outputs':>10s}{'Δ hidden':>10s}{'Δ outputs':>10s}   exponent of width")
for scheme in ("standard", "ntk", "mup"):
    narrow, wide = (observe(width, scheme) for width in WIDTHS)
    exponents = 0.5 * torch.log(wide / narrow) / math.log(WIDTHS[1] / WIDTHS[0])
    print(f"{scheme:10s}" + "".join(f"{float(e):10.2f}" for e in exponents))
print("theory:    standard 0, 1/2, 1;   ntk 0, −1/2, 0;   mup −1/2, 0, 0")
