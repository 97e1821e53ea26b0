"""Operations that are counted while a module runs, by hand."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from scalinglab.measure import flops


def test_attention_of_pytorch_is_counted_whole() -> None:
    """Its maps are inside one function; a network of the user's own once had none of them."""
    model = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    found = flops(model, (5, 16))
    one, pairs, wide = 2 * 5 * 16 * 16, 2 * 5 * 5 * 16, 2 * 5 * 16 * 32
    assert found.layers == {"self_attn": 4 * one + 2 * pairs, "linear1": wide, "linear2": wide}
    assert found.step == 3 * found.forward - 3 * one  # queries, keys and values are maps of the data


def test_a_network_without_trained_parameters_is_counted_as_if_all_were() -> None:
    model = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 2))
    expected = flops(model, (6,), 3)
    model.requires_grad_(False)
    assert flops(model, (6,), 3) == expected
    assert not any(p.requires_grad for p in model.parameters())


def test_functions_are_counted_as_layers_are() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.frozen = nn.Parameter(torch.ones(6, 4)), nn.Linear(4, 5)
            self.frozen.requires_grad_(False)

        def forward(self, x):
            h = torch.einsum("nti,io->nto", x, self.w)  # 3 positions
            h = F.scaled_dot_product_attention(h, h, h)  # 3 × 3 × 4, twice
            return self.frozen(h)

    model = Mixed()
    found = flops(model, (3, 6))
    products = {"einsum": 2 * 3 * 6 * 4, "attention": 2 * 2 * 3 * 3 * 4, "frozen": 2 * 3 * 4 * 5}
    assert found.forward == sum(products.values())
    assert found.step - found.forward == products["einsum"] + 2 * products["attention"] + products["frozen"]
    assert found.n_params == 24


def test_recurrent_layers_are_their_maps_at_every_token() -> None:
    """They are one function each, of which nothing was counted once: only a head after them was."""
    tokens, inputs, h = 5, 3, 8
    stacked = nn.GRU(inputs, h, num_layers=2, bidirectional=True, batch_first=True)
    first, state, second = (2 * tokens * 3 * h * entering for entering in (inputs, h, 2 * h))
    found = flops(stacked, (tokens, inputs))
    assert found.forward == 2 * (first + state + second + state)  # two directions
    assert found.step == 3 * found.forward - 2 * first  # the data need no gradient

    class Unrolled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTMCell(inputs, h)

        def forward(self, x):
            state = None
            for token in x.unbind(1):
                state = self.cell(token, state)
            return state[0]

    whole, unrolled = (flops(m, (tokens, inputs)) for m in (nn.LSTM(inputs, h, batch_first=True), Unrolled()))
    assert (whole.forward, whole.step) == (unrolled.forward, unrolled.step)
    assert whole.forward == 2 * tokens * 4 * h * (inputs + h)
