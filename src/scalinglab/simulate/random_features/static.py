r"""Random features trained to convergence by least squares: whole sweeps from one factorisation.

The student's predictions are φ(x)·θ with the least-norm solution θ = Φ⁺y, or with a ridge. In a sweep the
training sets (and the feature sets) are nested, and one QR factorisation serves every size:

- more data, D ≤ P: Φᵀ = QR. θ_D = Q_D R_D⁻ᵀ y_D is a prefix of the same sums, so the predictions of all
  D come from one forward substitution and a cumulative product (bahri2021: resolution-limited in D);
- more features, P ≤ D: Φ = QR, and likewise along the columns (resolution-limited in P);
- more data, D > P, or more features, P > D: the triangle is kept and the new rows are folded into it
  (variance-limited in D and in P).

A ridge (added to the diagonal of ΦΦᵀ/P) costs one eigendecomposition for all its values at each pair of
sizes. Draws are stacked along the first axis and go through the factorisations together.

Whole learning curves of kernel interpolation from one Cholesky factorisation.

The factor of the first D rows of a kernel matrix is the corner of the factor of more rows, so one
factorisation in a random order holds the fits to all its beginnings: the resolution-limited losses (4) and
(5) of bahri2021 at every size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular

from scalinglab.errors import BadInput, NotConverged
from scalinglab.simulate.random_features.features import Draw, Pool
from scalinglab.support.validation import checked
from scalinglab.support.work import track

if TYPE_CHECKING:
    from scalinglab.curves import Curves

MEMORY = 2e8  # bytes of one stack of draws
SINGULAR = 1e-12  # smaller pivots than this part of the largest: solve with the pseudo-inverse instead


@checked
def sweep(
    pool: Pool,
    n_data: Sequence[int] | np.ndarray | int,
    n_params: Sequence[int] | np.ndarray | int,
    *,
    ridge: float | Sequence[float] | np.ndarray = 0.0,
    draws: int = 10,
    seed: int = 0,
) -> Curves:
    """Train at every pair of sizes, for many draws of the training set and of the features.

    Args:
        pool: where features and targets come from: `GaussianPool` or `FeaturePool`.
        n_data: sizes D of the training set; for one draw a larger set contains the smaller.
        n_params: numbers P of features, nested likewise.
        ridge: 0 for the pseudo-inverse, or values added to the diagonal of ΦΦᵀ/P.
        draws: how many independent draws.
        seed: of the draws; draw i does not depend on how many there are.

    Returns:
        One row for each size, ridge and draw (`seed`), with `test_loss` and `train_loss`.
    """
    from scalinglab.curves import Curves

    sizes = [whole_sizes(n_data, "n_data"), whole_sizes(n_params, "n_params")]
    ridges = np.unique(np.atleast_1d(np.asarray(ridge, float)))
    if (ridges < 0).any() or not np.isfinite(ridges).all():
        raise BadInput(f"ridge = {ridges.min()} must be finite and zero or more")
    if draws < 1:
        raise BadInput(f"draws = {draws} must be one or more")
    largest = int(sizes[0][-1]), int(sizes[1][-1])
    one = pool.draw(*largest, [[seed, 0]])
    bytes_ = sum(a.nbytes for a in (one.train, one.train_targets, one.test, one.test_targets))
    stack = max(1, int(MEMORY / max(bytes_, 1)))
    chunks = [range(start, min(start + stack, draws)) for start in range(0, draws, stack)]
    results = [np.empty((draws, len(ridges), len(sizes[0]), len(sizes[1]))) for _ in range(2)]
    for chunk in track(chunks, f"training {pool.name}"):
        drawn = one if chunk == range(1) else pool.draw(*largest, [[seed, i] for i in chunk])
        for result, found in zip(results, _losses(drawn, sizes[0], sizes[1], ridges)):
            result[chunk.start : chunk.stop] = found
    grid = np.meshgrid(np.arange(draws), ridges, *sizes, indexing="ij")
    columns = dict(zip(("seed", "ridge", "n_data", "n_params"), (axis.ravel() for axis in grid)))
    losses = {"test_loss": results[0].ravel(), "train_loss": results[1].ravel()}
    return Curves({"model": pool.name, **columns, **losses}, source="simulate")


def whole_sizes(values: Sequence[int] | np.ndarray | int, name: str) -> np.ndarray:
    """Sizes in rising order, checked."""
    sizes = np.unique(np.atleast_1d(np.asarray(values)))
    if (
        sizes.size == 0
        or not (sizes >= 1).all()
        or not (np.isfinite(sizes) & (sizes == np.floor(sizes))).all()
    ):
        raise BadInput(f"{name} = {values} must be whole numbers, 1 or more")
    return sizes.astype(int)


def _losses(
    draw: Draw, n_data: np.ndarray, n_params: np.ndarray, ridges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Test and training losses, each (draws, ridges, D, P)."""
    count = len(draw.train)
    n_params = np.minimum(n_params, draw.train.shape[-1])
    test, train = (np.empty((count, len(ridges), len(n_data), len(n_params))) for _ in range(2))
    for k, ridge in enumerate(ridges):
        if ridge > 0:
            continue
        if len(n_data) >= len(n_params):
            for j, size in enumerate(n_params):
                part = Draw(
                    draw.train[..., :size], draw.train_targets, draw.test[..., :size], draw.test_targets
                )
                test[:, k, :, j], train[:, k, :, j] = _along_data(part, n_data)
        else:
            for i, size in enumerate(n_data):
                part = Draw(draw.train[:, :size], draw.train_targets[:, :size], draw.test, draw.test_targets)
                test[:, k, i], train[:, k, i] = _along_features(part, n_params)
    positive = ridges > 0
    if positive.any():
        for i, rows in enumerate(n_data):
            for j, columns in enumerate(n_params):
                part = Draw(
                    draw.train[:, :rows, :columns],
                    draw.train_targets[:, :rows],
                    draw.test[..., :columns],
                    draw.test_targets,
                )
                test[:, positive, i, j], train[:, positive, i, j] = _ridge(part, ridges[positive])
    return test + draw.floor, train


# --- along the data ------------------------------------------------------------------------------------


def _along_data(draw: Draw, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses for the first D rows of the training set, D in `sizes`; each (draws, len(sizes))."""
    few, many = sizes[sizes <= draw.train.shape[-1]], sizes[sizes > draw.train.shape[-1]]
    test, train = np.zeros((2, len(draw.train), len(sizes)))
    if few.size:
        phi, y = draw.train[:, : few[-1]], draw.train_targets[:, : few[-1]]
        q, r = np.linalg.qr(_t(phi))
        if _singular(r):
            test[:, : few.size], train[:, : few.size] = _one_by_one(draw, rows=few)
        else:  # interpolates: the training loss is zero
            right = _solve(r, y, transposed=True)
            if few.size * y.shape[-1] < few[-1]:  # few predictions: by way of the coefficients θ_D = Q_D z_D
                theta = (q[..., :d] @ right[:, :d] for d in few)
                test[:, : few.size] = _from_coefficients(theta, draw.test, draw.test_targets)
            else:
                test[:, : few.size] = _cumulative(draw.test @ q, right, draw.test_targets, few)
    if many.size:
        test[:, few.size :], train[:, few.size :] = _more_data(draw, many)
    return test, train


def _more_data(draw: Draw, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    triangle, right = draw.train[:, :0], draw.train_targets[:, :0]
    done, square = 0, np.zeros(len(draw.train))
    test, train = [], []
    for size in sizes:
        y = draw.train_targets[:, done:size]
        triangle, right = _fold(triangle, right, draw.train[:, done:size], y)
        square, done = square + np.sum(y**2, axis=(1, 2)), size
        if _singular(triangle):
            return _one_by_one(draw, rows=sizes)
        test.append(_mean_square(draw.test_targets - draw.test @ _solve(triangle, right)))
        residual = np.maximum(square - np.sum(right**2, axis=(1, 2)), 0)
        train.append(residual / (size * y.shape[-1]))
    return np.stack(test, 1), np.stack(train, 1)


# --- along the features --------------------------------------------------------------------------------


def _along_features(draw: Draw, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses for the first P features, P in `sizes`; each (draws, len(sizes))."""
    rows, y = draw.train.shape[-2], draw.train_targets
    few, many = sizes[sizes <= rows], sizes[sizes > rows]
    test, train = np.zeros((2, len(draw.train), len(sizes)))
    if few.size:
        q, r = np.linalg.qr(draw.train[..., : few[-1]])
        if _singular(r):
            test[:, : few.size], train[:, : few.size] = _one_by_one(draw, columns=few)
        else:
            right = _t(q) @ y
            if few.size * y.shape[-1] < few[-1]:
                theta = (_solve(r[:, :p, :p], right[:, :p]) for p in few)
                test[:, : few.size] = _from_coefficients(theta, draw.test, draw.test_targets)
            else:
                left = _t(_solve(r, _t(draw.test[..., : few[-1]]), transposed=True))
                test[:, : few.size] = _cumulative(left, right, draw.test_targets, few)
            train[:, : few.size] = _cumulative(q, right, y, few)
    if many.size:
        test[:, few.size :] = _more_features(draw, many)
    return test, train


def _more_features(draw: Draw, sizes: np.ndarray) -> np.ndarray:
    """P > D: K̄ = RᵀR and K(x) = Rᵀ·right, so that predictions are rightᵀ R⁻ᵀ y."""
    triangle, right = _t(draw.train[..., :0]), _t(draw.test[..., :0])
    done, test = 0, []
    for size in sizes:
        new = slice(done, size)
        triangle, right = _fold(triangle, right, _t(draw.train[..., new]), _t(draw.test[..., new]))
        done = size
        if _singular(triangle):
            return _one_by_one(draw, columns=sizes)[0]
        fitted = _t(right) @ _solve(triangle, draw.train_targets, transposed=True)
        test.append(_mean_square(draw.test_targets - fitted))
    return np.stack(test, 1)


# --- with a ridge, and where the matrix is singular ----------------------------------------------------


def _ridge(draw: Draw, ridges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses for every ridge from one eigendecomposition; each (draws, ridges)."""
    rows, columns = draw.train.shape[-2:]
    phi, y = draw.train, draw.train_targets
    if rows <= columns:
        values, vectors = np.linalg.eigh(phi @ _t(phi))
        left, seen, right = draw.test @ (_t(phi) @ vectors), vectors * values[:, None, :], _t(vectors) @ y
    else:
        values, vectors = np.linalg.eigh(_t(phi) @ phi)
        left, seen, right = draw.test @ vectors, phi @ vectors, _t(vectors) @ (_t(phi) @ y)
    test, train = [], []
    for ridge in ridges:
        solved = right / (np.maximum(values, 0) + columns * ridge)[..., None]
        test.append(_mean_square(draw.test_targets - left @ solved))
        train.append(_mean_square(y - seen @ solved))
    return np.stack(test, 1), np.stack(train, 1)


def _one_by_one(
    draw: Draw, rows: Sequence[int] | np.ndarray = (), columns: Sequence[int] | np.ndarray = ()
) -> tuple[np.ndarray, np.ndarray]:
    """The pseudo-inverse at each size: for features that are linearly dependent."""
    pairs = [(int(size), draw.train.shape[-1]) for size in rows]
    pairs += [(draw.train.shape[-2], int(size)) for size in columns]
    test, train = [], []
    for d, p in pairs:
        y = draw.train_targets[:, :d]
        theta = np.linalg.pinv(draw.train[:, :d, :p]) @ y
        test.append(_mean_square(draw.test_targets - draw.test[..., :p] @ theta))
        train.append(_mean_square(y - draw.train[:, :d, :p] @ theta))
    return np.stack(test, 1), np.stack(train, 1)


# --- linear algebra ------------------------------------------------------------------------------------


def _cumulative(left: np.ndarray, right: np.ndarray, targets: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Mean squared residual of targets − left[:, :size] right[:size] for nested sizes, (draws, sizes)."""
    residual, done, found = np.array(targets, float), 0, []
    for size in sizes:
        residual -= left[..., done:size] @ right[:, done:size]
        done = size
        found.append(_mean_square(residual))
    return np.stack(found, 1)


def _from_coefficients(
    coefficients: Iterable[np.ndarray], test: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """Mean squared residual for each of the students' coefficients, (draws, students)."""
    found = [_mean_square(targets - test[..., : theta.shape[-2]] @ theta) for theta in coefficients]
    return np.stack(found, 1)


def _fold(
    triangle: np.ndarray, right: np.ndarray, rows: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fold new rows (and their right-hand sides) into a triangular factor."""
    q, r = np.linalg.qr(np.concatenate([triangle, rows], axis=-2))
    return r, _t(q) @ np.concatenate([right, new], axis=-2)


def _solve(triangles: np.ndarray, right: np.ndarray, transposed: bool = False) -> np.ndarray:
    pairs = zip(triangles, right)
    return np.stack([solve_triangular(r, b, trans=int(transposed), check_finite=False) for r, b in pairs])


def _singular(triangles: np.ndarray) -> bool:
    pivots = np.abs(np.diagonal(triangles, axis1=-2, axis2=-1))
    return (
        bool((pivots.min(-1) <= SINGULAR * pivots.max(-1)).any()) or triangles.shape[-2] < triangles.shape[-1]
    )


def _mean_square(residual: np.ndarray) -> np.ndarray:
    return np.mean(residual**2, axis=(-1, -2))


def _t(matrix: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrix, -1, -2)


@checked
def nested_loss(
    matrix: np.ndarray,
    sizes: Sequence[int] | np.ndarray,
    *,
    targets: np.ndarray | None = None,
    draws: int = 1,
    seed: int = 0,
) -> np.ndarray:
    """The loss of kernel interpolation at every size of the training set, from one Cholesky factorisation.

    Without `targets` it is (5), averaged exactly over teachers drawn from the kernel: the mean of
    K(x,x) − K(x)ᵀK̄⁻¹K(x) over the inputs that are not in the training set, which is what D steps of a
    Cholesky factorisation leave of the diagonal. For a second moment matrix over features, in place of a
    kernel over inputs, the same number is (4): the duality.

    Args:
        matrix: 𝒦 over inputs or 𝒞 over features, symmetric and positive definite, (n, n).
        sizes: how many inputs (or features) are taken, each smaller than n.
        targets: given targets, (n,) or (n, outputs), in place of the teacher's; squared errors are summed
            over outputs.
        draws: how many random orders of the rows.
        seed: of the orders.

    Returns:
        Mean loss over the rows not taken, (draws, len(sizes)).
    """
    kernel = np.asarray(matrix, float)
    wanted = whole_sizes(sizes, "sizes")
    if wanted[-1] >= len(kernel):
        raise BadInput(f"sizes up to {wanted[-1]} of a matrix with {len(kernel)} rows: none are left to test")
    found = np.empty((draws, len(wanted)))
    for i in track(range(draws), "factorising"):
        order = np.random.default_rng([seed, i]).permutation(len(kernel))
        taken = order[: wanted[-1]]
        try:
            factor = np.linalg.cholesky(kernel[np.ix_(taken, taken)])
        except np.linalg.LinAlgError as error:
            raise NotConverged(
                f"the matrix of {wanted[-1]} rows is singular in double precision: take fewer rows, or add a "
                f"ridge of {1e-13 * np.trace(kernel):.1e} to its diagonal"
            ) from error
        found[i] = (
            _teacher(kernel, factor, order, wanted)
            if targets is None
            else _given(
                kernel, factor, order, wanted, np.asarray(targets, float).reshape(len(kernel), -1)[order]
            )
        )
    return found


def _teacher(kernel: np.ndarray, factor: np.ndarray, order: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Mean of the remaining diagonal after each number of steps."""
    solved = solve_triangular(
        factor, kernel[np.ix_(order[: sizes[-1]], order)], lower=True, check_finite=False
    )
    left, done, found = np.diag(kernel)[order].copy(), 0, []
    for size in sizes:
        left -= np.sum(solved[done:size] ** 2, axis=0)
        done = size
        found.append(left[size:].mean())
    return np.array(found)


def _given(
    kernel: np.ndarray, factor: np.ndarray, order: np.ndarray, sizes: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Squared errors of the interpolants of each size: their coefficients are L_D⁻ᵀ of a shared L⁻¹y."""
    half = solve_triangular(factor, y[: sizes[-1]], lower=True, check_finite=False)
    shuffled, found = kernel[np.ix_(order, order[: sizes[-1]])], []  # copied once, then only looked at
    for size in sizes:
        corner = factor[:size, :size]
        coefficients = solve_triangular(corner, half[:size], lower=True, trans=1, check_finite=False)
        residual = y[size:] - shuffled[size:, :size] @ coefficients
        found.append(np.mean(np.sum(residual**2, axis=1)))
    return np.array(found)
