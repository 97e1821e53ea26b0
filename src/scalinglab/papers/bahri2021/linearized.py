"""Networks linearised where they were drawn, trained by full-batch gradient descent in function space.

    f_{t+1}(x) = f_t(x) − η Σ_i Θ(x, x_i) ∂L/∂f_t(x_i)

on training and test inputs at once, with the full tangent kernel Θ (outputs × outputs) of the network at its
initial weights. It is the same map as a step of gradient descent on the parameters of the linearised network,
without rounding of a million parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from scalinglab.errors import BadInput
from scalinglab.measure import ntk
from scalinglab.support.progress import track
from scalinglab.train import Setting
from scalinglab.train.batches import Resident, dataset_of
from scalinglab.train.training_step import network, objective


def final_losses(settings: Sequence[Setting]) -> list[float]:
    """The test loss of each setting's linearised network after its steps."""
    return [final_loss(setting) for setting in track(settings, "linearised networks")]


def final_loss(setting: Setting) -> float:
    """The test loss of a setting's linearised network after its steps."""
    if setting.optimizer != "sgd" or setting.momentum or not setting.full_batch:
        raise BadInput(
            f"optimizer={setting.optimizer!r}, momentum={setting.momentum}, full_batch={setting.full_batch}: "
            "a linearised network is solved here for full-batch gradient descent, sgd without momentum"
        )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset = dataset_of(setting)
    n_data = setting.n_data or dataset.n_data
    resident = Resident(dataset.subset(n_data, setting.seed_of("data")), device)
    model = network(setting, resident).to(device).eval()
    seen, unseen = (resident.inputs(x) for x in (resident.train_x, resident.test_x))
    inputs = torch.cat([seen, unseen])
    kernel = torch.as_tensor(ntk(model, inputs, seen, outputs="full"), device=device)  # (n, k, m, k)
    with torch.no_grad():
        outputs = model(inputs).double()
    for _ in range(setting.total_steps(n_data)):
        pull = _gradient(outputs[:n_data], resident.train_y, setting)
        outputs = outputs - setting.learning_rate * torch.einsum("namb,mb->na", kernel, pull)
    return float(objective(outputs[None, n_data:], resident.test_y[None], setting, plain=True))


def _gradient(outputs: Tensor, y: Tensor, setting: Setting) -> Tensor:
    """∂L/∂f on the training examples, (examples, outputs)."""
    target = F.one_hot(y, outputs.shape[-1]).to(outputs.dtype) if y.dtype == torch.int64 else y
    if setting.loss == "mse":
        return 2 * (outputs - target) / outputs.numel()
    return (outputs.softmax(-1) - target) / len(outputs)
