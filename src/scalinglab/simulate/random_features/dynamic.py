r"""Random features along training, at finite size: the model of `scalinglab.theory.dmft`, drawn and trained.

Features A (N × M) and data Ψ (P × M) are drawn, and the residual weights v = w − Aᵀω/√N follow

    dv/dt = −(AᵀA/N) (ΨᵀΨ v + Ψᵀσε)/P   (bordelon2024, eq. 22)

exactly: one eigendecomposition of the smaller of ΦᵀΦ/P and ΦΦᵀ/P, Φ = ΨAᵀ/√N, serves every time and every
dynamics that is a filter of it (flow, descent, momentum). SGD, on fresh or on fixed data, is stepped. Draws
are stacked and go through the linear algebra together; random numbers come from NumPy on any device, so a
seed means the same draw everywhere, and a smaller N or P is a part of the larger one's draw.

Sign descent with one fresh example a step, drawn: the model of `theory.one_pass.sign_descent`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput, require, usable_device
from scalinglab.simulate.tables import of_draws
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.support.work import track
from scalinglab.theory.dmft import GradientFlow, MultiPassSGD
from scalinglab.theory.dmft.dynamics import Dynamics, setting_of
from scalinglab.theory.dmft.losses import check_times
from scalinglab.theory.one_pass import Optimizer

if TYPE_CHECKING:
    from scalinglab.curves import Curves


@checked
def sign_descent(
    spectrum: Spectrum,
    times: ArrayLike,
    learning_rate: float,
    noise: float,
    n_params: float = math.inf,
    *,
    draws: int = 10,
    seed: int = 0,
) -> Curves:
    """Train all draws side by side, θ ← θ + η sign(φ) sign(residual); one row for each time and draw.

    Args:
        spectrum, times, learning_rate, noise, n_params: as in `theory.one_pass.sign_descent`.
        draws: independent features and examples, the `seed` column of the curves.
        seed: of the random numbers.
    """
    at = np.unique(check_times(times, discrete=True))
    if draws < 1 or not n_params >= 1:
        raise BadInput(f"draws = {draws} and n_params = {n_params} must be 1 or more")
    random = np.random.default_rng(seed)
    values = spectrum.eigenvalues
    target = np.sqrt(spectrum.target_power / values)
    shape = (draws, int(n_params), len(values)) if math.isfinite(n_params) else None
    projections = None if shape is None else random.standard_normal(shape) / math.sqrt(n_params)
    weights = np.zeros((draws, len(values) if shape is None else shape[1]))

    def learnt() -> np.ndarray:
        return weights if projections is None else (weights[:, None] @ projections)[:, 0]

    kept = {}
    for step in range(int(at.max(initial=0)) + 1):
        if step in at:
            kept[step] = (target - learnt()) ** 2 @ values + noise**2
        x = random.standard_normal((draws, len(values))) * np.sqrt(values)
        features = x if projections is None else (projections @ x[..., None])[..., 0]
        left = x @ target + noise * random.standard_normal(draws) - (features * weights).sum(1)
        weights = weights + learning_rate * np.sign(features) * np.sign(left)[:, None]
    setting = {
        "model": "random features", "n_params": float(n_params), "optimizer": "sign descent",
        "learning_rate": learning_rate, "batch_size": 1.0, "noise": noise,
    }  # fmt: skip
    losses = np.array([kept[int(t)] for t in at]).reshape(len(at), draws).T
    return of_draws(setting, at, test_loss=losses)


MEMORY = 3e8  # bytes of the features and data of one stack of draws
FEATURES, DATA, NOISE, BATCHES = range(4)  # streams of random numbers of a draw


@checked
def train(
    spectrum: Spectrum,
    times: ArrayLike,
    n_params: float = math.inf,
    n_data: float = math.inf,
    noise: float = 0.0,
    dynamics: Dynamics | Optimizer | MultiPassSGD | None = None,
    ensemble: int = 1,
    bags: int = 1,
    *,
    draws: int = 10,
    seed: int = 0,
    device: str = "cpu",
    shuffled: bool = False,
) -> Curves:
    """Train random features on many draws and record test and train loss.

    Args:
        spectrum: eigenvalues and target power, short enough to be built.
        times: as in `theory.dmft.solve`.
        n_params: N random features, or inf for the kernel itself.
        n_data: P examples, or inf for the population.
        noise: σ of the label noise.
        dynamics: GradientFlow() by default, GradientDescent(η, μ), MultiPassSGD(η, batch_size, …) with a
            finite n_data, or an optimizer of `theory.one_pass`: OnePassSGD(η, batch_size), HeavyBall,
            AdaptedMomentum.
        ensemble: feature draws whose predictions are averaged.
        bags: data draws whose predictions are averaged.
        draws: independent repetitions, the `seed` column of the curves.
        seed: of the random numbers; draw i does not depend on how many there are.
        device: "cpu" (NumPy) or a torch device, "cuda".
        shuffled: let MultiPassSGD go through its data in passes, each in an order of its own, in place of
            batches that are drawn anew; theory has no solution of it.

    Returns:
        One row for each time and draw; `.average("seed")` gives mean, standard error and count.
    """
    dynamics = GradientFlow() if dynamics is None else dynamics
    online = isinstance(dynamics, Optimizer)
    at = check_times(times, isinstance(dynamics, Optimizer) or dynamics.discrete)
    for name, value in (("n_params", n_params), ("n_data", n_data)):
        if value != math.inf and not (value >= 1 and value == int(value)):
            raise BadInput(f"{name} = {value} must be a whole number, 1 or more, or inf")
    if draws < 1 or ensemble < 1 or bags < 1:
        raise BadInput(f"draws = {draws}, ensemble = {ensemble} and bags = {bags} must be 1 or more")
    if math.isinf(n_params) and math.isinf(n_data) and not online:
        raise BadInput("n_params and n_data are both infinite: nothing is random; theory.dmft.solve is exact")
    if shuffled and not isinstance(dynamics, MultiPassSGD):
        raise BadInput("shuffled passes are of MultiPassSGD: give it as dynamics, or leave shuffled out")
    if isinstance(dynamics, MultiPassSGD) and math.isinf(n_data):
        raise BadInput("n_data is infinite, so that no example is seen twice: use OnePassSGD")
    if online and n_data != math.inf:
        raise BadInput(f"n_data = {n_data:g}: one-pass SGD draws fresh batches; leave n_data infinite")
    sizes = (n_params, dynamics.batch_size if isinstance(dynamics, Optimizer) else n_data)
    rows = sum(size * count for size, count in zip(sizes, (ensemble, bags)) if math.isfinite(size))
    stack = max(1, int(MEMORY / (8 * spectrum.n_modes * rows)))
    chunks = [range(start, min(start + stack, draws)) for start in range(0, draws, stack)]
    machine = Machine(device)
    test, residual = np.empty((draws, len(at))), np.empty((draws, len(at)))
    for chunk in track(chunks, "training random features"):
        model = Model(machine, spectrum, n_params, n_data, noise, ensemble, bags, seed, chunk, shuffled)
        found = (
            model.online(at, dynamics) if isinstance(dynamics, Optimizer) else model.filtered(at, dynamics)
        )
        test[chunk.start : chunk.stop], residual[chunk.start : chunk.stop] = found
    setting = {
        "model": "random features", "n_params": float(n_params), "n_data": float(n_data),
        "noise": float(noise), "ensemble": float(ensemble), "bags": float(bags), **setting_of(dynamics),
        **spectrum.setting,
    }  # fmt: skip
    return of_draws(setting, at, test_loss=test, train_loss=residual)


class Machine:
    """NumPy, or torch on a device: the operations that differ between them."""

    def __init__(self, device: str) -> None:
        self.device = device if device == "cpu" else usable_device(device)
        self.torch = None if device == "cpu" else require("torch", "train", f"simulating on {device!r}")

    def array(self, values: np.ndarray) -> Any:
        return values if self.torch is None else self.torch.as_tensor(values, device=self.device)

    def numpy(self, values: Any) -> np.ndarray:
        return values if self.torch is None else values.cpu().numpy()

    def eigh(self, values: Any) -> Any:
        return np.linalg.eigh(values) if self.torch is None else self.torch.linalg.eigh(values)


class Model:
    """A stack of draws: arrays are (draws, …); ensembles and bags are loops over their members."""

    def __init__(
        self,
        machine: Machine,
        spectrum: Spectrum,
        n_params: float,
        n_data: float,
        noise: float,
        ensemble: int,
        bags: int,
        seed: int,
        draws: range,
        shuffled: bool = False,
    ) -> None:
        self.machine, self.draws, self.seed = machine, draws, seed
        self.n_params, self.n_data, self.noise = n_params, n_data, noise
        self.ensemble, self.bags, self.shuffled = ensemble, bags, shuffled
        self.eigenvalues = machine.array(np.array(spectrum.eigenvalues))
        self.weights = machine.array(np.sqrt(spectrum.target_power / spectrum.eigenvalues))
        self.modes = spectrum.n_modes

    def normal(self, stream: int, member: int, *shape: int) -> Any:
        """Standard normal numbers, (draws, *shape)."""
        found = [
            np.random.default_rng([self.seed, draw, stream, member]).standard_normal(shape)
            for draw in self.draws
        ]
        return self.machine.array(np.stack(found))

    def features(self, member: int) -> Any:
        """A/√N, (draws, N, M)."""
        return self.normal(FEATURES, member, int(self.n_params), self.modes) / math.sqrt(self.n_params)

    def data(self, member: int) -> tuple[Any, Any]:
        """Ψ (draws, P, M) and the labels (draws, P)."""
        examples = self.normal(DATA, member, int(self.n_data), self.modes) * self.eigenvalues**0.5
        labels = examples @ self.weights
        if self.noise:
            labels = labels + self.noise * self.normal(NOISE, member, int(self.n_data))
        return examples, labels

    def filtered(self, times: np.ndarray, dynamics: Dynamics | MultiPassSGD) -> tuple[np.ndarray, np.ndarray]:
        """Test and train loss, (draws, times), of descent or SGD on the data."""
        unlimited_params, unlimited_data = math.isinf(self.n_params), math.isinf(self.n_data)
        features = [None if unlimited_params else self.features(e) for e in range(self.ensemble)]
        learnt: Any = 0.0
        train = np.zeros((len(self.draws), len(times)))
        for bag in range(self.bags):
            examples, labels = (None, None) if unlimited_data else self.data(bag)
            misfit: Any = 0.0
            for e, projection in enumerate(features):
                weights, residual = self._train(
                    projection, examples, labels, times, dynamics, bag * self.ensemble + e
                )
                learnt = learnt + weights / (self.ensemble * self.bags)
                misfit = misfit + residual / self.ensemble if residual is not None else None
            if misfit is not None:
                train += self.machine.numpy((misfit**2).mean(-1)) / self.bags
        left = self.weights - learnt
        test = self.machine.numpy((left**2) @ self.eigenvalues) + self.noise**2
        return test, test.copy() if unlimited_data else train

    def _train(
        self, projection: Any, examples: Any, labels: Any, times: np.ndarray,
        dynamics: Dynamics | MultiPassSGD, member: int,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Learnt weights Aᵀω/√N (draws, times, M) and train residuals (draws, times, P) of one model."""
        if isinstance(dynamics, MultiPassSGD):
            phi = examples if projection is None else examples @ projection.swapaxes(-1, -2)
            omega = self._batches(phi, labels, times, dynamics, member)
            residual = labels[..., None, :] - omega @ phi.swapaxes(-1, -2)
            return (omega if projection is None else omega @ projection), residual
        if examples is None:  # the population: ΨᵀΨ/P = Λ
            half = projection * self.eigenvalues
            covariance, target = half @ projection.swapaxes(-1, -2), half @ self.weights
            return self._apply(covariance, target, times, dynamics) @ projection, None
        phi = examples if projection is None else examples @ projection.swapaxes(-1, -2)  # Φ
        size = phi.shape[-2]
        if projection is not None and phi.shape[-1] < size:
            covariance = phi.swapaxes(-1, -2) @ phi / size
            target = (phi.swapaxes(-1, -2) @ labels[..., None])[..., 0] / size
            omega = self._apply(covariance, target, times, dynamics)
        else:
            dual = self._apply(phi @ phi.swapaxes(-1, -2) / size, labels, times, dynamics)
            omega = dual @ phi / size
        residual = labels[..., None, :] - omega @ phi.swapaxes(-1, -2)
        return (omega if projection is None else omega @ projection), residual

    def _apply(self, matrix: Any, vector: Any, times: np.ndarray, dynamics: Dynamics) -> Any:
        """(1 − f_t(−K)) K⁻¹ v for every time, (draws, times, size), on the range of K."""
        values, basis = self.machine.eigh(matrix)
        x = self.machine.numpy(values)
        inside = x > 1e-13 * x[:, -1:]
        safe = np.where(inside, x, 1.0)
        gain = np.stack([(1 - dynamics.filter(-row + 0j, times).real) / row for row in safe])
        gain = self.machine.array(np.where(inside[:, None, :], gain, 0.0))
        components = (basis.swapaxes(-1, -2) @ vector[..., None])[..., 0]
        return (gain * components[:, None, :]) @ basis.swapaxes(-1, -2)

    def _batches(self, phi: Any, labels: Any, times: np.ndarray, dynamics: MultiPassSGD, member: int) -> Any:
        """Weights (draws, times, size) of SGD on batches of the rows of Φ, stepped."""
        streams = [np.random.default_rng([self.seed, draw, BATCHES, member]) for draw in self.draws]
        examples, size = phi.shape[-2], int(dynamics.batch_size)
        row, last = np.arange(len(streams))[:, None], int(times.max(initial=0))
        omega = 0 * phi[:, 0]
        mean, kept = omega, {0: omega}
        ahead: list[list[int]] = [[] for _ in streams]  # of shuffled passes: the examples to come
        for step, rate in enumerate(dynamics.rates(last), 1):
            chosen = np.stack(
                [self.examples_of(stream, ahead[i], examples, dynamics) for i, stream in enumerate(streams)]
            )
            batch, wanted = phi[row, chosen], labels[row, chosen]
            misfit = (batch @ omega[..., None])[..., 0] - wanted
            gradient = (batch.swapaxes(-1, -2) @ misfit[..., None])[..., 0] / size
            mean = dynamics.momentum * mean + gradient + dynamics.weight_decay * omega
            omega = omega - float(rate) * mean
            if step in times:
                kept[step] = omega
        stack = np.stack if self.machine.torch is None else self.machine.torch.stack
        return stack([kept[int(t)] for t in times], 1)

    def examples_of(
        self, stream: np.random.Generator, ahead: list[int], examples: int, dynamics: MultiPassSGD
    ) -> np.ndarray:
        """The examples of one batch."""
        size = int(dynamics.batch_size)
        if self.shuffled:
            while len(ahead) < size:
                ahead += stream.permutation(examples).tolist()
            batch, ahead[:] = ahead[:size], ahead[size:]
            return np.array(batch)
        return (
            stream.permutation(examples)[:size] if dynamics.distinct else stream.integers(0, examples, size)
        )

    def online(self, times: np.ndarray, dynamics: Optimizer) -> tuple[np.ndarray, np.ndarray]:
        """Test and train loss, (draws, times), of one-pass training.

        A fresh batch is a test set: the train loss is the test loss of the ensemble of one bag.
        """
        size, unlimited = int(dynamics.batch_size), math.isinf(self.n_params)
        features = [None if unlimited else self.features(e) for e in range(self.ensemble)]
        left = [
            [self.weights + 0 * self.normal(NOISE, 0, self.modes) for _ in features] for _ in range(self.bags)
        ]
        means = [[0 * one for one in row] for row in left]  # running means of gradients
        streams = [
            [np.random.default_rng([self.seed, draw, BATCHES, bag]) for draw in self.draws]
            for bag in range(self.bags)
        ]
        test, train = np.empty((2, len(self.draws), len(times)))
        for step in range(int(times.max(initial=0)) + 1):
            if (here := times == step).any():
                means_of_bags = [sum(row) / self.ensemble for row in left]
                each = [self._loss(one) for one in means_of_bags]
                test[:, here] = self._loss(sum(means_of_bags) / self.bags)[:, None]
                train[:, here] = np.mean(each, axis=0)[:, None]
            short, long, forget = dynamics.coefficients(step)
            for bag, row in enumerate(left):
                batch, noise = self._batch(streams[bag], size)
                for e, projection in enumerate(features):
                    misfit = (batch @ row[e][..., None])[..., 0] + noise
                    gradient = (batch.swapaxes(-1, -2) @ misfit[..., None])[..., 0] / size
                    pushed = _project(projection, gradient)
                    means[bag][e] = (1 - forget) * means[bag][e] + pushed
                    row[e] = row[e] - short * pushed - long * means[bag][e]
        return test, train

    def _loss(self, left: Any) -> np.ndarray:
        """Test loss of residual weights, (draws,)."""
        return self.machine.numpy((left**2) @ self.eigenvalues) + self.noise**2

    def _batch(self, streams: list[np.random.Generator], size: int) -> tuple[Any, Any]:
        drawn = np.stack([stream.standard_normal((size, self.modes + 1)) for stream in streams])
        examples = self.machine.array(drawn[..., :-1]) * self.eigenvalues**0.5
        return examples, self.noise * self.machine.array(drawn[..., -1])


def _project(projection: Any, gradient: Any) -> Any:
    """(AᵀA/N) g."""
    if projection is None:
        return gradient
    inner = projection @ gradient[..., None]
    return (projection.swapaxes(-1, -2) @ inner)[..., 0]
