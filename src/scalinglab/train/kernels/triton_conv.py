"""GPU kernels for convolutions that libraries are slow at: those of few channels.

Laid side by side, the patches of a batch of images are ten times as large as the batch. Here they are
gathered where they are multiplied, (pixels, taps) with (taps, outputs). The taps of a window are numbered row
by row, channels first.

- `ReluConv`, for the first layer of a network and the ReLU after it. Forward: relu(patches · W + b), and
  nothing else is written. Backward: gᵀ · patches, where g is the gradient of positive outputs, zero
  elsewhere. One more tap, which is 1 for every pixel, gives the gradient of the bias. The input gets none: it
  is the data.
- `SmallConv`, for windows of 3×3 on some tens of channels: only the gradient of the weights is made here, all
  three rows of the window at once.

In both backward passes every program sums over its share of the pixels, and the sums of programs are added in
their order, so that results repeat. The kernels are written in Triton, which comes with PyTorch for GPUs:
import this module only there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional as F

from scalinglab.nets.layers import Conv, scaled

FIRST_PROGRAMS, SMALL_PROGRAMS = (
    264,
    132,
)  # that share the pixels of a backward pass; an H200 has 132 processors


# --- the first layer ---------------------------------------------------------------------------------


class ReluConv(Conv):
    """A convolution of few channels and the ReLU after it."""

    @staticmethod
    def takes(layer: Conv) -> bool:
        """Whether it can take the place of a layer."""
        square = len({*layer.stride}) == len({*layer.padding}) == 1
        fits = layer.weight[0].numel() <= 127 and layer.out_channels <= 128
        return square and fits and layer.bias is not None

    def forward(self, input: Tensor) -> Tensor:
        """Apply both to images of shape (n, channels, height, width)."""
        assert self.bias is not None
        assert not isinstance(self.padding, str)
        weight, bias = scaled(self.weight, self.multiplier), scaled(self.bias, self.bias_multiplier)
        return relu_convolution(input.to(weight.dtype), weight, bias, self.stride[0], self.padding[0])


def relu_convolution(x: Tensor, weight: Tensor, bias: Tensor, stride: int, padding: int) -> Tensor:
    """Cross-correlate images (n, channels, height, width), any strides; the result has its channels last."""
    return _ReluConvolution.apply(x, weight, bias, stride, padding)  # type: ignore[no-untyped-call]


class _ReluConvolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, stride: int, padding: int) -> Tensor:
        out = _forward(x, weight, bias, stride, padding)
        ctx.save_for_backward(x, weight, out)
        ctx.window = stride, padding
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor, None, None]:  # type: ignore[override]
        x, weight, out = ctx.saved_tensors
        outputs, channels, rows, columns = weight.shape
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        sums = _backward(x, weight, out, gradient, *ctx.window).sum(0)[:outputs].to(weight.dtype)
        taps = channels * rows * columns
        of_weight = sums[:, :taps].unflatten(1, (rows, columns, channels)).permute(0, 3, 1, 2)
        return None, of_weight, sums[:, taps], None, None


@torch.library.custom_op("scalinglab::few_channels", mutates_args=())
def _forward(x: Tensor, weight: Tensor, bias: Tensor, stride: int, padding: int) -> Tensor:
    out = _empty_like_result(x, weight, bias, stride, padding)
    channels, rows, columns = weight.shape[1:]
    pixels, taps, outputs = out.numel() // out.shape[1], channels * rows * columns, out.shape[1]
    n_taps, n_outputs = _size(taps), _size(outputs)
    piece = _piece(n_taps, n_outputs)
    _forward_kernel[(triton.cdiv(pixels, piece),)](
        x, weight, bias, out, pixels, *x.stride(), *weight.stride(), *x.shape[2:], *out.shape[2:],
        channels, columns, taps, outputs, stride, padding, piece, n_taps, n_outputs,
        num_warps=_warps(n_taps, n_outputs),
    )  # fmt: skip
    return out


@_forward.register_fake
def _empty_like_result(x: Tensor, weight: Tensor, bias: Tensor, stride: int, padding: int) -> Tensor:
    height, width = (
        (size + 2 * padding - window) // stride + 1
        for size, window in zip(x.shape[2:], weight.shape[2:], strict=True)
    )
    shape = (x.shape[0], weight.shape[0], height, width)
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=torch.channels_last)


@torch.library.custom_op("scalinglab::few_channels_backward", mutates_args=())
def _backward(x: Tensor, weight: Tensor, out: Tensor, gradient: Tensor, stride: int, padding: int) -> Tensor:
    sums = _empty_sums(x, weight, out, gradient, stride, padding)
    channels, rows, columns = weight.shape[1:]
    pixels, taps, outputs = out.numel() // out.shape[1], channels * rows * columns, out.shape[1]
    n_outputs, n_taps = sums.shape[1:]
    piece = _piece(n_taps, n_outputs)
    _backward_kernel[(len(sums),)](
        x, gradient, out, sums, pixels, *x.stride(), *x.shape[2:], *out.shape[2:],
        channels, columns, taps, outputs, stride, padding, piece, n_taps, n_outputs,
        _stages(x, n_taps + 2 * n_outputs, piece, most=2), num_warps=_warps(n_taps, n_outputs),
    )  # fmt: skip
    return sums


@_backward.register_fake
def _empty_sums(
    x: Tensor, weight: Tensor, out: Tensor, gradient: Tensor, stride: int, padding: int
) -> Tensor:
    shape = (FIRST_PROGRAMS, _size(weight.shape[0]), _size(weight.shape[1:].numel() + 1))
    return torch.empty(shape, dtype=torch.float32, device=x.device)


def _size(count: int) -> int:
    """The power of two that a side of a matrix in a kernel has; matrix units take 16 at least."""
    return int(max(16, triton.next_power_of_2(count)))


def _piece(n_taps: int, n_outputs: int) -> int:
    """How many pixels are worked on at once."""
    return 128 if n_taps + n_outputs <= 128 else 64


def _stages(x: Tensor, columns: int, piece: int, most: int) -> int:
    """How many pieces may be on their way at once: matrices (piece, columns) in most of the shared memory."""
    if x.device.type != "cuda":
        return 1
    return max(
        1, min(most, int(0.8 * _shared_memory(x.device.index)) // (piece * columns * x.element_size()))
    )


@cache
def _shared_memory(device: int) -> int:
    """Bytes that a program can have."""
    return int(triton.runtime.driver.active.utils.get_device_properties(device)["max_shared_mem"])


def _warps(n_taps: int, n_outputs: int) -> int:
    return 4 if max(n_taps, n_outputs) <= 64 else 8


@triton.jit
def _forward_kernel(  # type: ignore[no-untyped-def]
    x_at, weight_at, bias_at, out_at, pixels, x_image, x_channel, x_row, x_column,
    w_output, w_channel, w_row, w_column,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, UP: tl.constexpr, ACROSS: tl.constexpr,
    CHANNELS: tl.constexpr, COLUMNS: tl.constexpr, TAPS: tl.constexpr, OUTPUTS: tl.constexpr,
    STRIDE: tl.constexpr, PADDING: tl.constexpr, PIECE: tl.constexpr,
    N_TAPS: tl.constexpr, N_OUTPUTS: tl.constexpr,
):  # fmt: skip
    pixel = tl.program_id(0) * PIECE + tl.arange(0, PIECE)
    tap = tl.arange(0, N_TAPS)
    output = tl.arange(0, N_OUTPUTS)
    patches = _patches(
        x_at, pixel, pixel < pixels, tap, x_image, x_channel, x_row, x_column,
        HEIGHT, WIDTH, UP, ACROSS, CHANNELS, COLUMNS, TAPS, STRIDE, PADDING,
    )  # fmt: skip
    place = tap % CHANNELS * w_channel + tap // CHANNELS % COLUMNS * w_column
    place += tap // (CHANNELS * COLUMNS) * w_row
    there = (tap < TAPS)[:, None] & (output < OUTPUTS)[None, :]
    weight = tl.load(weight_at + place[:, None] + (output * w_output)[None, :], there, other=0.0)
    bias = tl.load(bias_at + output, output < OUTPUTS, other=0.0).to(tl.float32)
    values = tl.dot(patches, weight) + bias[None, :]
    values = tl.where(values > 0, values, tl.where(values == values, 0.0, values))  # NaN stays
    there = (pixel < pixels)[:, None] & (output < OUTPUTS)[None, :]
    tl.store(out_at + pixel[:, None] * OUTPUTS + output[None, :], values.to(out_at.dtype.element_ty), there)


@triton.jit
def _backward_kernel(  # type: ignore[no-untyped-def]
    x_at, gradient_at, out_at, sums_at, pixels, x_image, x_channel, x_row, x_column,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, UP: tl.constexpr, ACROSS: tl.constexpr,
    CHANNELS: tl.constexpr, COLUMNS: tl.constexpr, TAPS: tl.constexpr, OUTPUTS: tl.constexpr,
    STRIDE: tl.constexpr, PADDING: tl.constexpr, PIECE: tl.constexpr,
    N_TAPS: tl.constexpr, N_OUTPUTS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    tap = tl.arange(0, N_TAPS)
    output = tl.arange(0, N_OUTPUTS)
    sums = tl.zeros((N_OUTPUTS, N_TAPS), tl.float32)
    for start in tl.range(tl.program_id(0) * PIECE, pixels, tl.num_programs(0) * PIECE, num_stages=STAGES):
        pixel = start + tl.arange(0, PIECE)
        inside = pixel < pixels
        patches = _patches(
            x_at, pixel, inside, tap, x_image, x_channel, x_row, x_column,
            HEIGHT, WIDTH, UP, ACROSS, CHANNELS, COLUMNS, TAPS, STRIDE, PADDING,
        )  # fmt: skip
        patches = tl.where((tap == TAPS)[None, :], 1.0, patches.to(tl.float32)).to(x_at.dtype.element_ty)
        place = pixel[:, None] * OUTPUTS + output[None, :]
        there = inside[:, None] & (output < OUTPUTS)[None, :]
        gradient = tl.load(gradient_at + place, there, other=0.0)
        out = tl.load(out_at + place, there, other=0.0)
        gradient = tl.where(out <= 0, 0.0, gradient).to(x_at.dtype.element_ty)
        sums += tl.dot(tl.trans(gradient), patches)
    place = output[:, None] * N_TAPS + tap[None, :]
    tl.store(sums_at + tl.program_id(0) * (N_OUTPUTS * N_TAPS) + place, sums)


@triton.jit
def _patches(  # type: ignore[no-untyped-def]
    x_at, pixel, inside, tap, x_image, x_channel, x_row, x_column,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, UP: tl.constexpr, ACROSS: tl.constexpr,
    CHANNELS: tl.constexpr, COLUMNS: tl.constexpr, TAPS: tl.constexpr,
    STRIDE: tl.constexpr, PADDING: tl.constexpr,
):  # fmt: skip
    """What the window sees around every pixel of the result, (pixels, taps), zero outside of the image."""
    image = pixel // (UP * ACROSS)
    place = pixel % (UP * ACROSS)
    row = (place // ACROSS * STRIDE - PADDING)[:, None] + (tap // (CHANNELS * COLUMNS))[None, :]
    column = (place % ACROSS * STRIDE - PADDING)[:, None] + (tap // CHANNELS % COLUMNS)[None, :]
    there = (row >= 0) & (row < HEIGHT) & (column >= 0) & (column < WIDTH)
    there &= (tap < TAPS)[None, :] & inside[:, None]
    at = x_at + (image * x_image)[:, None] + (tap % CHANNELS * x_channel)[None, :]
    return tl.load(at + row * x_row + column * x_column, there, other=0.0)


# --- windows of 3×3 on some tens of channels ---------------------------------------------------------


class SmallConv(Conv):
    """A convolution with the library's kernels, but for the gradient of its weights."""

    @staticmethod
    def takes(layer: Conv) -> bool:
        """Whether it can take the place of a layer."""
        window = (layer.kernel_size, layer.stride, layer.padding) == ((3, 3), (1, 1), (1, 1))
        return window and layer.in_channels in (16, 32) and layer.out_channels in (16, 32, 64)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        out: Tensor = _SmallConvolution.apply(input.to(weight.dtype), weight)  # type: ignore[no-untyped-call]
        return out if bias is None else out + bias[:, None, None]


class _SmallConvolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        x = x.contiguous(memory_format=torch.channels_last)
        ctx.save_for_backward(x, weight)
        return F.conv2d(x, weight, padding=1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        x, weight = ctx.saved_tensors
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        of_x, _, _ = torch.ops.aten.convolution_backward(
            gradient, x, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, False, False]
        )
        channels = x.shape[1]
        rows = _small_backward(x, gradient).sum(0)[:, :, : 3 * channels]  # (row, output, column and channel)
        of_weight = rows.unflatten(2, (3, channels)).permute(1, 3, 0, 2)
        return of_x, of_weight.to(weight.dtype)


@torch.library.custom_op("scalinglab::small_convolution_backward", mutates_args=())
def _small_backward(x: Tensor, gradient: Tensor) -> Tensor:
    sums = _empty_rows(x, gradient)
    (n, channels, height, width), outputs = x.shape, gradient.shape[1]
    piece, columns = 64, 3 * sums.shape[-1] + outputs
    _small_kernel[(len(sums),)](
        x, gradient, sums, n * height * width, height, width, channels, outputs, piece,
        _stages(x, columns, piece, most=3), num_warps=8,
    )  # fmt: skip
    return sums


@_small_backward.register_fake
def _empty_rows(x: Tensor, gradient: Tensor) -> Tensor:
    shape = (SMALL_PROGRAMS, 3, gradient.shape[1], 4 * x.shape[1])  # 4, not 3: a power of two
    return torch.empty(shape, dtype=torch.float32, device=x.device)


@triton.jit
def _small_kernel(  # type: ignore[no-untyped-def]
    x_at, gradient_at, sums_at, pixels, HEIGHT: tl.constexpr, WIDTH: tl.constexpr,
    CHANNELS: tl.constexpr, OUTPUTS: tl.constexpr, PIECE: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    tap = tl.arange(0, 4 * CHANNELS)
    output = tl.arange(0, OUTPUTS)
    above = tl.zeros((OUTPUTS, 4 * CHANNELS), tl.float32)
    level = tl.zeros((OUTPUTS, 4 * CHANNELS), tl.float32)
    below = tl.zeros((OUTPUTS, 4 * CHANNELS), tl.float32)
    for start in tl.range(tl.program_id(0) * PIECE, pixels, tl.num_programs(0) * PIECE, num_stages=STAGES):
        pixel = start + tl.arange(0, PIECE)
        inside = pixel < pixels
        place = pixel[:, None] * OUTPUTS + output[None, :]
        gradient = tl.trans(tl.load(gradient_at + place, inside[:, None], other=0.0))
        above += tl.dot(gradient, _row(x_at, pixel, inside, tap, -1, HEIGHT, WIDTH, CHANNELS))
        level += tl.dot(gradient, _row(x_at, pixel, inside, tap, 0, HEIGHT, WIDTH, CHANNELS))
        below += tl.dot(gradient, _row(x_at, pixel, inside, tap, 1, HEIGHT, WIDTH, CHANNELS))
    size: tl.constexpr = OUTPUTS * 4 * CHANNELS
    place = tl.program_id(0) * (3 * size) + output[:, None] * (4 * CHANNELS) + tap[None, :]
    tl.store(sums_at + place, above)
    tl.store(sums_at + place + size, level)
    tl.store(sums_at + place + 2 * size, below)


@triton.jit
def _row(  # type: ignore[no-untyped-def]
    x_at, pixel, inside, tap, ROW: tl.constexpr,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Three neighbours in the row that is ROW below every pixel, (pixels, 4 channels); channels are last."""
    step = tap // CHANNELS - 1
    row = pixel // WIDTH % HEIGHT + ROW
    column = (pixel % WIDTH)[:, None] + step[None, :]
    there = (column >= 0) & (column < WIDTH) & (step < 2)[None, :]
    there &= (inside & (row >= 0) & (row < HEIGHT))[:, None]
    place = ((pixel + ROW * WIDTH) * CHANNELS)[:, None] + (step * CHANNELS + tap % CHANNELS)[None, :]
    return tl.load(x_at + place, there, other=0.0)
