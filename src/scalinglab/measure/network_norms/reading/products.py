"""Products: of activations with each other, with numbers, with parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, fx

from scalinglab.measure.network_norms.graph import RADIUS, Layer
from scalinglab.measure.network_norms.reading.attention import Attention
from scalinglab.measure.network_norms.reading.extents import Extent, Norms, Unbounded, log_of
from scalinglab.measure.network_norms.reading.layers import BATCH, use_of


class Products(Attention):
    """Rules of products."""

    def _product(self, node: fx.Node) -> None:
        """Elementwise: |d(ab)| ≤ max|a| |db| + max|b| |da|."""
        if node.name in self.rms_norms:
            x, epsilon = self.rms_norms[node.name]
            self._normalize(node, x, epsilon, self.shapes[x.name][-1], None, None, "rms norm")
            return
        first, second = list[Any](node.args[:2])
        if node.meta["name"] == "div":
            if not self._is_constant(second):
                raise Unbounded("a quotient by what depends on the input has no bounded slope")
            self._scaled(node, first, second, inverse=True)
        elif self._is_constant(second):
            self._scaled(node, first, second)
        elif self._is_constant(first):
            self._scaled(node, second, first)
        else:
            self._add_up(
                node, [(first, self._grown(second, first, node)), (second, self._grown(first, second, node))]
            )
            self.graph.has_branches = True

            def size(norms: Norms, a: Extent, b: Extent) -> Extent:
                token, length = (torch.minimum(a[k] + b.entry, a.entry + b[k]) for k in (1, 2))
                return Extent(a.entry + b.entry, token, length)

            self._set_extent(node, [partial(self._broadcast, n, node) for n in (first, second)], size)

    def _grown(self, factor: Any, other: Any, node: fx.Node) -> Callable[[Norms], Tensor]:
        """log of how much a product with `factor` stretches a change of `other`."""
        inner, copies = self.extent(factor), 0.5 * math.log(self._copies(other, node))
        shapes = [self.shapes[n.name] for n in (factor, other, node)]
        # one number for a whole row: its change is stretched by the row's length, however many copies it has
        along_last = (
            len(shapes[1]) == len(shapes[2]) and shapes[1][:-1] == shapes[2][:-1] and shapes[0] == shapes[2]
        )

        def grow(norms: Norms) -> Tensor:
            extent = inner(norms)
            plain = extent.entry + copies
            return torch.minimum(plain, extent.token) if along_last else plain

        return grow

    def _scaled(self, node: fx.Node, source: Any, factor: Any, inverse: bool = False) -> None:
        """Times a number, or entry by entry times parameters."""
        copies = math.sqrt(self._copies(source, node))
        if isinstance(factor, (int, float, complex, bool)):
            size = abs(factor)
            if inverse and size == 0:
                raise Unbounded("a division by zero")
            number = 1 / size if inverse else size
            self._factor(node, source, number * copies, "scaling")
            log_number = math.log(number) if number else -math.inf
            self._multiplied(node, source, lambda norms: log_number)
            return
        if not isinstance(factor, fx.Node):
            raise Unbounded(f"a product with {type(factor).__name__} has no rule")
        if factor.name in self.recording.from_input:  # a mask
            if inverse:
                raise Unbounded("a quotient by what depends on the input has no bounded slope")
            inner = self.extent(factor)
            self._add_up(node, [(source, lambda norms: inner(norms).entry + math.log(copies))])
            self._multiplied(node, source, lambda norms: inner(norms).entry)
            return
        value = self._computed(factor)
        scale = self._log_max(f"{node.name} scale", (lambda state: 1 / value(state)) if inverse else value)
        self._note_constant(node, "scaling", None)
        self._add_up(node, [(source, lambda norms: scale(norms) + math.log(copies))])
        self._multiplied(node, source, scale)

    def _multiplied(self, node: fx.Node, source: fx.Node, factor: Callable[[Norms], Any]) -> None:
        inner = partial(self._broadcast, source, node)
        self._set_extent(node, [inner], lambda norms, extent: [part + factor(norms) for part in extent])

    def _matrix_product(self, node: fx.Node) -> None:
        """A B: ‖d(AB)‖ ≤ ‖A‖ ‖dB‖ + ‖B‖ ‖dA‖, and a layer where one of them is a parameter."""
        first, second = list[Any](node.args[:2] if node.meta["name"] != "rmatmul" else node.args[1::-1])
        if self._is_fixed(second) and self._depends(first):
            if self._from_weights(second):
                self._matrix(node, first, second, None, transposed=True)
            else:
                self._fixed_matrix(node, first, second, right=True)
        elif self._is_fixed(first) and self._depends(second):
            self._fixed_matrix(node, second, first, right=False)
        elif not (self._depends(first) and self._depends(second)):
            raise Unbounded("a product of a matrix with whole numbers has no rule")
        else:
            self._product_of_activations(node, first, second)

    def _product_of_activations(self, node: fx.Node, first: fx.Node, second: fx.Node) -> None:
        shapes = self.shapes[first.name], self.shapes[second.name]
        if min(len(s) for s in shapes) < 2:
            raise Unbounded("a product of a matrix and a vector that both depend on the input has no rule")
        rows = [0.5 * math.log(shape[-2]) for shape in shapes]
        one, two = self.extent(first), self.extent(second)
        here = self.shapes[node.name]
        matrices = math.prod(here[:-2])
        copies = [0.5 * math.log(max(1.0, matrices / math.prod(shape[:-2]))) for shape in shapes]

        def norm(extent: Extent, more: float) -> Tensor:
            """Of each matrix: at most its ℓ2 length, that of its rows counted."""
            return torch.minimum(extent.length, extent.token + more)

        self._add_up(node, [
            (first, lambda norms: norm(two(norms), rows[1]) + copies[0]),
            (second, lambda norms: norm(one(norms), rows[0]) + copies[1]),
        ])  # fmt: skip
        self.graph.has_branches = True

        def size(norms: Norms, a: Extent, b: Extent) -> Extent:
            left, right = norm(a, rows[0]), norm(b, rows[1])
            length = torch.minimum(a.length + copies[0] + right, left + b.length + copies[1])
            return Extent(a.token + right, a.token + right, length)

        self._set_extent(node, [first, second], size)

    def _fixed_matrix(self, node: fx.Node, source: Any, matrix: Any, right: bool) -> None:
        """A matrix that is no layer: constant, or one that mixes positions from the left."""
        value = self._computed(matrix) if self._from_weights(matrix) else None
        here = self._current_value(matrix).detach()
        if here.ndim < 2 or not here.is_floating_point():
            raise Unbounded("a product with a vector has no rule")
        axis = -1 if right else -2
        vectors = [math.prod(self.shapes[n.name]) / self.shapes[n.name][axis] for n in (node, source)]
        copies = 0.5 * math.log(max(1.0, vectors[0] / vectors[1]))
        if value is None:
            number = float(torch.linalg.matrix_norm(here.double(), 2).max())

            def norm(norms: Norms) -> Tensor:
                return log_of(number, norms[RADIUS]) + copies
        elif not right and here.ndim == 2:
            shape = self.shapes[source.name]
            applications = max(1, math.prod(shape) // shape[-2] // BATCH)
            layer = Layer(
                use_of(self._name_of(matrix), self.graph), self._weight(matrix), positions=applications,
                size=(here.shape[0], here.shape[1]), applications=applications,
            )  # fmt: skip
            self.graph.layers.append(layer)

            def norm(norms: Norms) -> Tensor:
                return norms[layer.name] + copies
        else:
            raise Unbounded(f"a product with weights of {here.ndim} axes has no rule")
        self._add_up(node, [(source, norm)])

        def size(norms: Norms, inner: Extent) -> Extent:
            token, length = (part + norm(norms) for part in (inner.token, inner.length))
            token = token if right else length
            return Extent(token, token, length)

        self._set_extent(node, [source], size)

    def _added_product(self, node: fx.Node) -> None:
        """addmm(bias, x, W), as in Conv1D of GPT-2."""
        bias, x, weight = node.args[:3]
        if set(node.kwargs) & {"alpha", "beta"}:
            raise Unbounded("addmm with factors has no rule")
        self._matrix(node, x, weight, bias, transposed=True)
