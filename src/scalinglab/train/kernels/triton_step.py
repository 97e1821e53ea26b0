"""GPU kernel for a whole step of stacked perceptrons of one hidden layer, in one launch.

A program holds a block of units of one run: their weights and momenta of both layers, which are read and
written once a step, the least that is possible. All that blocks must tell each other is their shares of the
logits, so a launch begins with the sum of these and ends with the shares for the next batch:

- logits, softmax and cross-entropy, by every block of a run for itself;
- the gradient by its hidden units, update of its part of the readout and of the layer below;
- with the new weights, its hidden units for the next batch and their share of the logits.

Blocks of a run read shares while others write those of the next step: there are two buffers, in turn. All
features are read at once, in `PARTS` parts of `WIDE` features, one a warp: each warp multiplies its own
features and no warp waits for the next tile. Bytes are exact in bf16, and a number in fp32 is the sum of
three in bf16, so that three of the fastest products give fp32. This suits batches of up to 64 examples and
inputs of up to 1,024 features; `scalinglab.train.kernels.triton_mlp` has the kernels for the others.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import os

import triton
import triton.language as tl

from scalinglab.train.kernels.triton_mlp import GENERAL, _from_bytes, _lines, _loss, _state, _updated, _upper

INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")


@triton.jit
def _pixels(lines, offset, scale, live, k, features, BYTES: tl.constexpr):
    """All features of some examples, (parts, rows, features of a part): bytes, or numbers normalised."""
    inside = live[None, :, None] & (k < features)[:, None, :]
    a = tl.load(lines[None, :, None] + k[:, None, :], mask=inside, other=0)
    if not BYTES:
        shift = tl.load(offset + k, mask=k < features, other=0.0)
        factor = tl.load(scale + k, mask=k < features, other=0.0)
        a = tl.where(inside, a.to(tl.float32) * factor[:, None, :] + shift[:, None, :], 0.0)
    return a


@triton.jit
def _upper_half(x):
    """The upper 16 bits of numbers in fp32, which are numbers in bf16."""
    return (x.to(tl.int32, bitcast=True) >> 16).to(tl.int16).to(tl.bfloat16, bitcast=True)


@triton.jit
def _dot(left, right, total):
    """total + left · right of numbers in bf16, which Triton's interpreter does not multiply."""
    if INTERPRETED:
        return tl.dot(left.to(tl.float32), right.to(tl.float32), total)
    else:
        return tl.dot(left, right, total)


@triton.jit
def _products(left, right, total, BYTES: tl.constexpr, PRECISION: tl.constexpr):
    """total + left · right. Bytes on the left are exact in bf16, and a number in fp32 is the sum of three."""
    if BYTES:
        x = _upper_half(_from_bytes(left))
        if PRECISION == "tf32":
            return tl.dot(_from_bytes(left), right, total, input_precision="tf32")
        first = _upper(right, 7)
        rest = right - first
        second = _upper(rest, 7)
        total = _dot(x, _upper_half(first), total)
        total = _dot(x, _upper_half(second), total)
        return _dot(x, _upper_half(rest - second), total)
    else:
        return tl.dot(left, right, total, input_precision=PRECISION)


@triton.jit(do_not_specialize=GENERAL)
def step(
    data, offset, scale, targets, examples, counter, ahead, order, rates, diverged_at,
    weight, bias, momenta, bias_momenta, out_weight, out_bias, out_momenta, out_bias_momenta,
    hidden, partial, next_hidden, next_partial, shares, features, units, classes, runs, most,
    multiplier, bias_multiplier, rate_scale, bias_rate_scale,
    out_multiplier, out_bias_multiplier, out_rate_scale, out_bias_rate_scale, momentum, decay, smoothing,
    LEARN: tl.constexpr, AHEAD: tl.constexpr, BYTES: tl.constexpr, UNIFORM: tl.constexpr,
    MOMENTUM: tl.constexpr, NESTEROV: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr,
    UNITS: tl.constexpr, PARTS: tl.constexpr, WIDE: tl.constexpr, TOGETHER: tl.constexpr,
    CLASSES: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """One step of a block of units: LEARN updates them, AHEAD computes what they give for the next batch.

    EARLY: momenta are read before their gradient is known; they take registers meanwhile.
    """
    block, task = tl.program_id(0), order + 2 * tl.program_id(1)
    run, size = tl.load(task).to(tl.int64), tl.load(task + 1)
    unit, label = block * UNITS + tl.arange(0, UNITS), tl.arange(0, CLASSES)
    k = tl.arange(0, PARTS)[:, None] * WIDE + tl.arange(0, WIDE)[None, :]
    mine, real = unit < units, label < classes
    has_bias = real & (label >= block * CLASSES)  # block 0 has the bias of the logits
    weight += run * units * features  # offsets from here on fit into 32 bits
    momenta += run * units * features
    of_weight = unit[None, None, :] * features + k[:, :, None]
    inside = mine[None, None, :] & (k < features)[:, :, None]
    of_unit, of_class = run * units + unit, run * classes + label
    of_readout, read = of_class[None, :] * units + unit[:, None], mine[:, None] & real[None, :]
    w = tl.load(weight + of_weight, mask=inside, other=0.0)
    b, b_momenta = _state(bias, bias_momenta, of_unit, mine, MOMENTUM)
    out_w, out_w_momenta = _state(out_weight, out_momenta, of_readout, read, MOMENTUM)
    out_b, out_b_momenta = _state(out_bias, out_bias_momenta, of_class, has_bias, MOMENTUM)

    if LEARN:
        u = w
        if EARLY and MOMENTUM:
            u = tl.load(momenta + of_weight, mask=inside, other=0.0)
        gradient, of_bias = tl.zeros([PARTS, WIDE, UNITS], tl.float32), tl.zeros([UNITS], tl.float32)
        of_out, of_out_bias = tl.zeros([UNITS, CLASSES], tl.float32), tl.zeros([CLASSES], tl.float32)
        failed = 0
        for start in range(0, size, ROWS):
            rows = start + tl.arange(0, ROWS)
            live = rows < size
            lines = _lines(data, examples, ahead, run, rows, live, features, runs, most, True)
            a = _pixels(lines, offset, scale, live, k, features, BYTES)
            place = (run * shares * most + rows)[:, None] * CLASSES + label[None, :]
            logits = tl.zeros([ROWS, CLASSES], tl.float32)
            for first in range(0, shares, TOGETHER):
                for share in tl.static_range(TOGETHER):  # these are on their way at once
                    there = live[:, None] & (first + share < shares)
                    logits += tl.load(partial + place, mask=there, other=0.0)
                    place += most * CLASSES
            number = tl.load(examples + (ahead * runs + run) * most + rows, mask=live, other=0)
            y = tl.load(targets + number, mask=live, other=0)
            d, loss = _loss(logits, y, label, real, classes, smoothing)
            failed += tl.sum(tl.where(live & ~(tl.abs(loss) < float("inf")), 1, 0), 0)
            d = tl.where(live[:, None] & real[None, :], d / size, 0.0)
            of_hidden = (run * most + rows)[:, None] * units + unit[None, :]
            h = tl.load(hidden + of_hidden, mask=live[:, None] & mine[None, :], other=0.0)
            of_out += tl.sum(h[:, :, None] * d[:, None, :], 0)  # few numbers: without tensor cores
            of_out_bias += tl.sum(d, 0)
            back = out_multiplier * tl.sum(d[:, None, :] * out_w[None, :, :], 2)
            delta = tl.where(h > 0, back, 0.0)
            of_bias += tl.sum(delta, 0)
            every = tl.broadcast_to(delta[None, :, :], (PARTS, ROWS, UNITS))
            gradient = _products(tl.trans(a, (0, 2, 1)), every, gradient, BYTES, PRECISION)
        if UNIFORM:
            gradient = gradient * tl.load(scale) + of_bias[None, None, :] * tl.load(offset)
        elif BYTES:
            factor = tl.load(scale + k, mask=k < features, other=0.0)[:, :, None]
            shift = tl.load(offset + k, mask=k < features, other=0.0)[:, :, None]
            gradient = gradient * factor + of_bias[None, None, :] * shift
        rate = tl.load(rates + run)
        if MOMENTUM and not EARLY:
            u = tl.load(momenta + of_weight, mask=inside, other=0.0)
        w = _updated(
            weight, momenta, of_weight, inside, w, u, multiplier * gradient, rate * rate_scale, momentum,
            decay, MOMENTUM, NESTEROV,
        )  # fmt: skip
        b = _updated(
            bias, bias_momenta, of_unit, mine, b, b_momenta, bias_multiplier * of_bias,
            rate * bias_rate_scale, momentum, decay, MOMENTUM, NESTEROV,
        )  # fmt: skip
        out_w = _updated(
            out_weight, out_momenta, of_readout, read, out_w, out_w_momenta, out_multiplier * of_out,
            rate * out_rate_scale, momentum, decay, MOMENTUM, NESTEROV,
        )  # fmt: skip
        out_b = _updated(
            out_bias, out_bias_momenta, of_class, has_bias, out_b, out_b_momenta,
            out_bias_multiplier * of_out_bias, rate * out_bias_rate_scale, momentum, decay,
            MOMENTUM, NESTEROV,
        )  # fmt: skip
        if (block == 0) & (failed > 0) & (tl.load(diverged_at + run) < 0):
            tl.store(diverged_at + run, tl.load(counter) + ahead)

    if AHEAD:
        of_shift = tl.zeros([UNITS], tl.float32)
        if UNIFORM:
            of_shift = tl.sum(tl.sum(tl.where(inside, w, 0.0), 1), 0) * tl.load(offset)
        elif BYTES:
            of_shift = tl.sum(tl.sum(w * tl.load(offset + k, mask=k < features, other=0.0)[:, :, None], 1), 0)
            w *= tl.load(scale + k, mask=k < features, other=0.0)[:, :, None]
        out_b = tl.where(has_bias, out_b, 0.0)
        for start in range(0, size, ROWS):
            rows = start + tl.arange(0, ROWS)
            live = rows < size
            lines = _lines(data, examples, ahead + 1, run, rows, live, features, runs, most, True)
            a = _pixels(lines, offset, scale, live, k, features, BYTES)
            z = tl.sum(_products(a, w, tl.zeros([PARTS, ROWS, UNITS], tl.float32), BYTES, PRECISION), 0)
            if UNIFORM:
                z *= tl.load(scale)
            z = multiplier * (z + of_shift[None, :]) + bias_multiplier * b[None, :]
            h = tl.where((live[:, None] & mine[None, :]) & ~(z <= 0), z, 0.0)  # what is not a number stays so
            of_hidden = (run * most + rows)[:, None] * units + unit[None, :]
            tl.store(next_hidden + of_hidden, h, mask=live[:, None] & mine[None, :])
            own = out_multiplier * tl.sum(h[:, :, None] * out_w[None, :, :], 1)
            own += out_bias_multiplier * out_b[None, :]
            of_share = ((run * shares + block) * most + rows)[:, None] * CLASSES + label[None, :]
            tl.store(next_partial + of_share, own, mask=live[:, None])
