"""GPU kernels for a training step of stacked multi-layer perceptrons whose batches differ in size.

A small network's step moves its weights through memory once or twice and multiplies little: what it costs is
launches and passes over memory. Here a step of d hidden layers is 3d launches for all runs of a stack, and
weights and momenta are read and written once beside the forward pass:

- `forward`, a launch a layer: h = relu(m W a + m_b b); the last layer also leaves its units' share of the
  logits;
- `output`: logits, softmax and cross-entropy; the gradient by the last hidden layer; update of the readout;
- `hidden_gradient`, a launch a layer below the last: δ = (m Wᵀ δ_above) · 1[h > 0];
- `update`, a launch a layer but the readout: W ← W − ε …, with m δᵀ a as the gradient; `update_few` for
  batches whose examples fit one tile.

Every program takes a block of units of one run and as many examples as that run's batch has: a batch of 8
beside one of 512 costs what it costs alone. Tensor cores multiply numbers of 11 bits (TF32) or, twice as
fast, of 8 (bf16), so fp32 numbers are split. Data in bytes need not be: W (s x + o) = (W s) x + W o, with x
exact in bf16, takes the three products of the parts of W s, and x goes from memory to the tensor cores as it
is. Sums are in a fixed order, so that results repeat. The kernels are written in Triton, which comes with
PyTorch for GPUs: import this module only there.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import triton
import triton.language as tl

GENERAL = ["ahead", "runs", "most", "shares", "classes"]  # whose values the compiler does not look at
TOGETHER = tl.constexpr(8)  # shares of the logits that are read at once


@triton.jit
def _lines(data, examples, ahead, run, rows, live, features, runs, most, FIRST: tl.constexpr):
    """Where the inputs of some rows of the batch begin: in the data, or in the layer below."""
    if FIRST:
        number = tl.load(examples + (ahead * runs + run) * most + rows, mask=live, other=0)
        return data + number.to(tl.int64) * features
    else:
        return data + (run * most + rows) * features


@triton.jit
def _inputs(lines, offset, scale, live, k, features, FIRST: tl.constexpr, BYTES: tl.constexpr):
    """A tile of the layer's inputs, (rows, features): of the data, normalised, or of the layer below.

    Of data in bytes the numbers themselves, in bf16, which is exact: see `_products`.
    """
    inside = live[:, None] & (k < features)[None, :]
    a = tl.load(lines[:, None] + k[None, :], mask=inside, other=0)
    if FIRST and not BYTES:
        shift = tl.load(offset + k, mask=k < features, other=0.0)
        factor = tl.load(scale + k, mask=k < features, other=0.0)
        a = tl.where(inside, a.to(tl.float32) * factor[None, :] + shift[None, :], 0.0)
    return a


@triton.jit
def _upper(x, BITS: tl.constexpr):
    """The number that the sign, the exponent and so many bits of the mantissa make."""
    return (x.to(tl.int32, bitcast=True) & (-1 << (23 - BITS))).to(tl.float32, bitcast=True)


@triton.jit
def _upper_half(x):
    """The upper 16 bits of numbers in fp32, which are numbers in bf16."""
    return (x.to(tl.int32, bitcast=True) >> 16).to(tl.int16).to(tl.bfloat16, bitcast=True)


@triton.jit
def _products(left, right, total, BYTES: tl.constexpr, PRECISION: tl.constexpr):
    """total + left · right. Bytes on the right have no error in bf16: left alone is split, in three."""
    if BYTES:
        first = _upper(left, 7)
        second = _upper(left - first, 7)
        total = tl.dot(_upper_half(first), right, total)
        total = tl.dot(_upper_half(second), right, total)
        if PRECISION != "tf32":  # which two parts hold already
            total = tl.dot(_upper_half((left - first) - second), right, total)
        return total
    else:
        return tl.dot(left, right, total, input_precision=PRECISION)


@triton.jit
def _state(weight, momenta, place, mask, MOMENTUM: tl.constexpr):
    """Weights and momenta, which leave the cache first: a step reads them once, and weights twice."""
    w = tl.load(weight + place, mask=mask, other=0.0)
    if MOMENTUM:
        return w, tl.load(momenta + place, mask=mask, other=0.0, eviction_policy="evict_first")
    else:
        return w, w


@triton.jit
def _updated(
    weight, momenta, place, mask, w, u, gradient, rate, momentum, decay,
    MOMENTUM: tl.constexpr, NESTEROV: tl.constexpr,
):  # fmt: skip
    """Update weights in place: u ← μ u + g; w ← w − ε u, or w − ε (g + μ u) for Nesterov."""
    change = gradient + decay * w
    if MOMENTUM:
        u = momentum * u + change
        tl.store(momenta + place, u, mask=mask, eviction_policy="evict_first")
        change = change + momentum * u if NESTEROV else u
    tl.store(weight + place, w - rate * change, mask=mask)


@triton.jit
def _of_inputs(gradient, of_bias, offset, scale, k, features, UNIFORM: tl.constexpr, BYTES: tl.constexpr):
    """The gradient by inputs, from that by pixels as they are stored: inputs are scale · pixel + offset."""
    if UNIFORM:
        return gradient * tl.load(scale) + of_bias[:, None] * tl.load(offset)
    elif BYTES:
        factor = tl.load(scale + k, mask=k < features, other=0.0)
        shift = tl.load(offset + k, mask=k < features, other=0.0)
        return gradient * factor[None, :] + of_bias[:, None] * shift[None, :]
    else:
        return gradient


@triton.jit
def _update_biases(
    bias, momenta, place, mine, gradient, rate, momentum, decay,
    MOMENTUM: tl.constexpr, NESTEROV: tl.constexpr,
):  # fmt: skip
    """Those of a block of units, by the first program of the block alone."""
    if tl.program_id(0) == 0:
        b, u = _state(bias, momenta, place, mine, MOMENTUM)
        _updated(bias, momenta, place, mine, b, u, gradient, rate, momentum, decay, MOMENTUM, NESTEROV)


@triton.jit(do_not_specialize=GENERAL)
def forward(
    data, offset, scale, examples, ahead, work, weight, bias, hidden, out_weight, out_bias, partial,
    features, units, classes, runs, most,
    multiplier, bias_multiplier, out_multiplier, out_bias_multiplier,
    FIRST: tl.constexpr, LAST: tl.constexpr, BYTES: tl.constexpr, UNIFORM: tl.constexpr,
    PRECISION: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr, FEATURES: tl.constexpr,
    CLASSES: tl.constexpr,
):  # fmt: skip
    """Hidden units of one layer; of the last, also each block's share of the logits."""
    block, task = tl.program_id(0), work + 3 * tl.program_id(1)
    run, start, size = tl.load(task).to(tl.int64), tl.load(task + 1), tl.load(task + 2)
    rows, unit = start + tl.arange(0, ROWS), block * UNITS + tl.arange(0, UNITS)
    live, mine = rows < size, unit < units
    lines = _lines(data, examples, ahead, run, rows, live, features, runs, most, FIRST)
    total, of_shift = tl.zeros([UNITS, ROWS], tl.float32), tl.zeros([UNITS], tl.float32)
    for first in range(0, features, FEATURES):
        k = first + tl.arange(0, FEATURES)
        a = _inputs(lines, offset, scale, live, k, features, FIRST, BYTES)
        place = (run * units + unit)[:, None] * features + k[None, :]
        w = tl.load(weight + place, mask=mine[:, None] & (k < features)[None, :], other=0.0)
        if UNIFORM:
            of_shift += tl.sum(w, 1)
        elif BYTES:
            of_shift += tl.sum(w * tl.load(offset + k, mask=k < features, other=0.0)[None, :], 1)
            w *= tl.load(scale + k, mask=k < features, other=0.0)[None, :]
        total = _products(w, tl.trans(a), total, BYTES, PRECISION)
    if UNIFORM:
        total, of_shift = total * tl.load(scale), of_shift * tl.load(offset)
    b = tl.load(bias + run * units + unit, mask=mine, other=0.0)
    z = tl.trans(multiplier * (total + of_shift[:, None]) + bias_multiplier * b[:, None])
    h = tl.where((live[:, None] & mine[None, :]) & ~(z <= 0), z, 0.0)  # what is not a number stays so
    place = (run * most + rows)[:, None] * units + unit[None, :]
    tl.store(hidden + place, h, mask=live[:, None] & mine[None, :])
    if LAST:
        label = tl.arange(0, CLASSES)
        of_class = (run * classes + label)[None, :] * units + unit[:, None]
        out_w = tl.load(out_weight + of_class, mask=mine[:, None] & (label < classes)[None, :], other=0.0)
        share = out_multiplier * tl.dot(h, out_w, input_precision=PRECISION)
        first_share = (label < classes) & (label >= block * CLASSES)  # of block 0: it has the bias
        out_b = tl.load(out_bias + run * classes + label, mask=first_share, other=0.0)
        share += out_bias_multiplier * out_b[None, :]
        of_share = ((run * tl.num_programs(0) + block) * most + rows)[:, None] * CLASSES
        tl.store(partial + of_share + label[None, :], share, mask=live[:, None])


@triton.jit
def _loss(logits, y, label, real, classes, smoothing):
    """Gradient of the cross-entropy by the logits, (rows, classes), and the cross-entropy of each row."""
    largest = tl.max(tl.where(real[None, :], logits, float("-inf")), 1)
    shifted = tl.where(real[None, :], logits - largest[:, None], 0.0)
    each = tl.where(real[None, :], tl.exp(shifted), 0.0)
    total = tl.sum(each, 1)
    wanted = tl.where(label[None, :] == y[:, None], 1.0 - smoothing, 0.0) + smoothing / classes
    return each / total[:, None] - wanted, tl.log(total) - tl.sum(wanted * shifted, 1)


@triton.jit(do_not_specialize=GENERAL)
def output(
    targets, examples, counter, ahead, order, hidden, delta, partial, weight, bias, momenta, bias_momenta,
    rates, diverged_at, shares, units, classes, runs, most,
    multiplier, bias_multiplier, rate_scale, bias_rate_scale, momentum, decay,
    smoothing,
    MOMENTUM: tl.constexpr, NESTEROV: tl.constexpr, PRECISION: tl.constexpr,
    ROWS: tl.constexpr, UNITS: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip
    """Cross-entropy, its gradient by the last hidden layer, and the update of the readout."""
    block, task = tl.program_id(0), order + 2 * tl.program_id(1)
    run, size = tl.load(task).to(tl.int64), tl.load(task + 1)
    unit, label = block * UNITS + tl.arange(0, UNITS), tl.arange(0, CLASSES)
    mine, real = unit < units, label < classes
    of_weight = (run * classes + label)[None, :] * units + unit[:, None]
    w, u = _state(weight, momenta, of_weight, mine[:, None] & real[None, :], MOMENTUM)
    gradient, of_bias = tl.zeros([UNITS, CLASSES], tl.float32), tl.zeros([CLASSES], tl.float32)
    failed = 0
    for start in range(0, size, ROWS):
        rows = start + tl.arange(0, ROWS)
        live = rows < size
        number = tl.load(examples + (ahead * runs + run) * most + rows, mask=live, other=0)
        of_hidden, inside = (
            (run * most + rows)[:, None] * units + unit[None, :],
            live[:, None] & mine[None, :],
        )
        h = tl.load(hidden + of_hidden, mask=inside, other=0.0)
        y = tl.load(targets + number, mask=live, other=0)
        place = (run * shares * most + rows)[:, None] * CLASSES + label[None, :]
        logits = tl.zeros([ROWS, CLASSES], tl.float32)
        for first in range(0, shares, TOGETHER):
            for share in tl.static_range(TOGETHER):  # these are on their way at once
                there = live[:, None] & (first + share < shares)
                logits += tl.load(partial + place, mask=there, other=0.0)
                place += most * CLASSES
        d, loss = _loss(logits, y, label, real, classes, smoothing)
        failed += tl.sum(tl.where(live & ~(tl.abs(loss) < float("inf")), 1, 0), 0)
        d = tl.where(live[:, None] & real[None, :], d / size, 0.0)
        gradient = tl.dot(tl.trans(h), d, gradient, input_precision=PRECISION)
        of_bias += tl.sum(d, 0)
        back = multiplier * tl.dot(d, tl.trans(w), input_precision=PRECISION)
        tl.store(delta + of_hidden, tl.where(h > 0, back, 0.0), mask=inside)
    rate = tl.load(rates + run)
    _updated(
        weight, momenta, of_weight, mine[:, None] & real[None, :], w, u, multiplier * gradient,
        rate * rate_scale, momentum, decay, MOMENTUM, NESTEROV,
    )  # fmt: skip
    if block == 0:
        b, of_b = _state(bias, bias_momenta, run * classes + label, real, MOMENTUM)
        _updated(
            bias, bias_momenta, run * classes + label, real, b, of_b, bias_multiplier * of_bias,
            rate * bias_rate_scale, momentum, decay, MOMENTUM, NESTEROV,
        )  # fmt: skip
        if (failed > 0) & (tl.load(diverged_at + run) < 0):
            tl.store(diverged_at + run, tl.load(counter) + ahead)


@triton.jit(do_not_specialize=["most"])
def hidden_gradient(
    work, above, weight, hidden, delta, features, units,
    most, multiplier,
    PRECISION: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    """δ of a layer of `features` units, from that of the layer of `units` units above and its weights."""
    task = work + 3 * tl.program_id(1)
    run, start, size = tl.load(task).to(tl.int64), tl.load(task + 1), tl.load(task + 2)
    rows, k = start + tl.arange(0, ROWS), tl.program_id(0) * FEATURES + tl.arange(0, FEATURES)
    live = rows < size
    total = tl.zeros([ROWS, FEATURES], tl.float32)
    for first in range(0, units, UNITS):
        unit = first + tl.arange(0, UNITS)
        mine = unit < units
        place = (run * most + rows)[:, None] * units + unit[None, :]
        d = tl.load(above + place, mask=live[:, None] & mine[None, :], other=0.0)
        place = (run * units + unit)[:, None] * features + k[None, :]
        w = tl.load(weight + place, mask=mine[:, None] & (k < features)[None, :], other=0.0)
        total = tl.dot(d, w, total, input_precision=PRECISION)
    place = (run * most + rows)[:, None] * features + k[None, :]
    inside = live[:, None] & (k < features)[None, :]
    h = tl.load(hidden + place, mask=inside, other=0.0)
    tl.store(delta + place, tl.where(h > 0, multiplier * total, 0.0), mask=inside)


@triton.jit(do_not_specialize=GENERAL)
def update(
    data, offset, scale, examples, ahead, order, delta, weight, bias, momenta, bias_momenta, rates,
    features, units, runs, most,
    multiplier, bias_multiplier, rate_scale, bias_rate_scale, momentum, decay,
    FIRST: tl.constexpr, BYTES: tl.constexpr, UNIFORM: tl.constexpr, MOMENTUM: tl.constexpr,
    NESTEROV: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    FEATURES: tl.constexpr,
):  # fmt: skip
    """Gradient and update of a tile of one layer's weights, (units, features), and of the units' biases."""
    task = order + 2 * tl.program_id(2)
    run, size = tl.load(task).to(tl.int64), tl.load(task + 1)
    unit, k = (
        tl.program_id(1) * UNITS + tl.arange(0, UNITS),
        tl.program_id(0) * FEATURES + tl.arange(0, FEATURES),
    )
    mine = unit < units
    of_weight, inside = (
        (run * units + unit)[:, None] * features + k[None, :],
        mine[:, None] & (k < features)[None, :],
    )
    gradient, of_bias = tl.zeros([UNITS, FEATURES], tl.float32), tl.zeros([UNITS], tl.float32)
    for start in range(0, size, ROWS):
        rows = start + tl.arange(0, ROWS)
        live = rows < size
        lines = _lines(data, examples, ahead, run, rows, live, features, runs, most, FIRST)
        a = _inputs(lines, offset, scale, live, k, features, FIRST, BYTES)
        place = (run * most + rows)[:, None] * units + unit[None, :]
        d = tl.load(delta + place, mask=live[:, None] & mine[None, :], other=0.0)
        gradient = _products(tl.trans(d), a, gradient, BYTES, PRECISION)
        of_bias += tl.sum(d, 0)
    gradient = _of_inputs(gradient, of_bias, offset, scale, k, features, UNIFORM, BYTES)
    rate = tl.load(rates + run)
    w, u = _state(weight, momenta, of_weight, inside, MOMENTUM)
    _updated(
        weight, momenta, of_weight, inside, w, u, multiplier * gradient, rate * rate_scale, momentum, decay,
        MOMENTUM, NESTEROV,
    )  # fmt: skip
    _update_biases(
        bias, bias_momenta, run * units + unit, mine, bias_multiplier * of_bias, rate * bias_rate_scale,
        momentum, decay, MOMENTUM, NESTEROV,
    )  # fmt: skip


@triton.jit(do_not_specialize=GENERAL)
def update_few(
    data, offset, scale, examples, ahead, order, delta, weight, bias, momenta, bias_momenta, rates,
    features, units, runs, most,
    multiplier, bias_multiplier, rate_scale, bias_rate_scale, momentum, decay,
    FIRST: tl.constexpr, BYTES: tl.constexpr, UNIFORM: tl.constexpr, MOMENTUM: tl.constexpr,
    NESTEROV: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    FEATURES: tl.constexpr, TILES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """As `update`, for batches of at most ROWS examples: a program takes TILES tiles, one after the other.

    Small batches compute little, and their time is that of weights and momenta on their way from and to the
    memory: those of the next tiles (STAGES − 1) are on their way while one is updated.
    """
    task = order + 2 * tl.program_id(2)
    run, size = tl.load(task).to(tl.int64), tl.load(task + 1)
    unit, rows = tl.program_id(1) * UNITS + tl.arange(0, UNITS), tl.arange(0, ROWS)
    mine, live = unit < units, rows < size
    lines = _lines(data, examples, ahead, run, rows, live, features, runs, most, FIRST)
    place = (run * most + rows)[:, None] * units + unit[None, :]
    d = tl.load(delta + place, mask=live[:, None] & mine[None, :], other=0.0)
    of_bias, rate = tl.sum(d, 0), tl.load(rates + run)
    begin = tl.program_id(0) * (TILES * FEATURES)
    for first in tl.range(begin, min(begin + TILES * FEATURES, features), FEATURES, num_stages=STAGES):
        k = first + tl.arange(0, FEATURES)
        of_weight, inside = (
            (run * units + unit)[:, None] * features + k[None, :],
            mine[:, None] & (k < features)[None, :],
        )
        a = _inputs(lines, offset, scale, live, k, features, FIRST, BYTES)
        w, u = _state(weight, momenta, of_weight, inside, MOMENTUM)
        gradient = _products(tl.trans(d), a, tl.zeros([UNITS, FEATURES], tl.float32), BYTES, PRECISION)
        gradient = _of_inputs(gradient, of_bias, offset, scale, k, features, UNIFORM, BYTES)
        _updated(
            weight, momenta, of_weight, inside, w, u, multiplier * gradient, rate * rate_scale, momentum,
            decay, MOMENTUM, NESTEROV,
        )  # fmt: skip
    _update_biases(
        bias, bias_momenta, run * units + unit, mine, bias_multiplier * of_bias, rate * bias_rate_scale,
        momentum, decay, MOMENTUM, NESTEROV,
    )  # fmt: skip
