"""Forms against what their authors published: runs and fits from their repositories, and their parameters.

| form | source |
| --- | --- |
| `data_constrained` | README of huggingface/datablations, "Parametric Fit" |
| `vocabulary` | sail-sg/scaling-with-vocab: approach3_isoloss.py, optimal_Nv_predict.py, exp_data.csv |
| `parallel_streams` | parametric_fit.py of ParScale: the 48 losses of the paper's fit |
| `overtrained`, `error_from_loss` | mlfoundations/scaling: the runs on C4 of the paper's default fit |
| `fine_grained_experts` | scaling_laws/plotND.py of llm-random/llm-random, the authors' fit to four digits |
| `data_mixing_2` | yegcjs/mixinglaws: losses of 70M models and the fits that mix_2_domains.ipynb prints |
| `optimal_learning_rate`, `optimal_batch_size` | the step law, as OLMo-core quotes it |
| `routed_experts`, `data_transferred` | tables of the papers, confirmed in a second source |
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.laws import forms, surface

DATA = Path(os.environ.get("SCALINGLAB_DATA", Path(__file__).parents[3] / "shared" / "data"))
SCALEBENCH = DATA / "learning-curves" / "scalebench"

# E, A, B, alpha, beta, R_D, R_N; printed as ln E, ln A, ln B
REPEATED = (*np.exp([0.6254804, 6.255414, 7.3049974]), 0.3526596, 0.3526596, 15.387756, 5.309743)

# non-embedding parameters for 1, 2, 4, 8 streams, and losses on code (Stack-V2 Python) and on the Pile
STREAM_SIZES = np.array([
    [535813376, 693753856, 1088376320, 1571472384, 2774773760, 4353203200],
    [538195842, 696738818, 1092762882, 1577522690, 2784937986, 4368529922],
    [540577412, 699722756, 1097148164, 1583571460, 2795100164, 4383854084],
    [545340552, 705690632, 1105918728, 1595669000, 2815424520, 4414502408],
], float)  # fmt: skip
STREAMS = np.repeat([1.0, 2.0, 4.0, 8.0], 6)
STREAM_LOSSES = {
    "code": [1.1722, 1.1496, 1.1131, 1.0817, 1.0451, 1.0213, 1.1507, 1.1262, 1.0940, 1.0623, 1.0244, 1.0025,
             1.1354, 1.1124, 1.0808, 1.0490, 1.0126, 0.9906, 1.1231, 1.0997, 1.0688, 1.0383, 1.0016, 0.9794],
    "pile": [2.1113, 2.0671, 2.0027, 1.9539, 1.8876, 1.8451, 2.0772, 2.0363, 1.9730, 1.9266, 1.8610, 1.8137,
             2.0544, 2.0128, 1.9509, 1.9040, 1.8394, 1.7938, 2.0364, 1.9933, 1.9318, 1.8856, 1.8218, 1.7772],
}  # fmt: skip

# parameters, tokens per parameter, loss on C4, and error: 1 - mean accuracy over the paper's 17 tasks
OVERTRAINED = pd.DataFrame(
    [(10569312.0, 20, 5.220676313, 0.803673), (78914048, 20, 3.800284412, 0.740027),
     (153677376, 20, 3.432645750, 0.676725), (411616256, 20, 3.041736734, 0.648738),
     (10569312, 320, 4.506403530, 0.789722), (1439795200, 20, 2.656858712, 0.570692)],
    columns=["n_params", "ratio", "loss", "error"],
)  # fmt: skip


def test_repeated_data_gives_the_losses_that_the_authors_print():
    """Models of figure 1: 6.34 B on 242 B tokens and 8.67 B on 178 B, both of 25 B unique ones."""
    runs = np.array([[6.34e9, 8.67e9], [242e9, 178e9], [25e9, 25e9]])
    found = forms.get("data_constrained")(runs, *REPEATED)
    assert found == pytest.approx([2.2256440889984477, 2.2269634075087867], rel=1e-12)


@pytest.mark.parametrize(
    ("corpus", "k", "alpha", "floor", "scale"),
    [("code", 0.393, 0.189, 0.691, 1.13e7), ("pile", 0.334, 0.196, 1.289, 1.98e8)],
)
def test_parallel_streams_are_fitted_as_published(corpus, k, alpha, floor, scale):
    """Chen et al. 2025: Huber's threshold 1e-3 on ln loss; their A is ours to the power 1/alpha."""
    law = surface.fit(
        loss=np.array(STREAM_LOSSES[corpus]), form="parallel_streams", n_params=STREAM_SIZES.ravel(),
        n_streams=STREAMS, delta=1e-3,
    )  # fmt: skip
    found = law.parameters
    assert found["streams"] == pytest.approx(k, abs=5.5e-4)
    assert found["alpha"] == pytest.approx(alpha, abs=5.5e-4)
    assert found["E"] == pytest.approx(floor, abs=5.5e-4)
    assert found["A"] ** (1 / found["alpha"]) == pytest.approx(scale, rel=0.01)


def test_over_training_on_c4_is_fitted_as_published():
    """Gadre et al. 2024: 1.51 + (141 M^0.121 + 190 M^-0.121) C^-0.121 from five runs, by least squares."""
    runs = OVERTRAINED[:5]
    compute = 6.0 * runs.n_params * (runs.n_params * runs.ratio)
    law = sl.laws.fit("overtrained", (compute, runs.ratio), runs.loss, space="raw", loss="squared")
    found = [law.parameters[name] for name in ("E", "a", "b", "eta")]
    rounded = [round(value, digits) for value, digits in zip(found, (2, 0, 0, 3), strict=True)]
    assert rounded == [1.51, 141, 190, 0.121]


def test_error_from_loss_is_fitted_as_published():
    """Gadre et al. 2024: 0.850 - 2.08 e^(-0.756 L) from six runs on C4."""
    law = sl.laws.fit("error_from_loss", OVERTRAINED.loss, OVERTRAINED.error, space="raw", loss="squared")
    found = [law.parameters[name] for name in ("ceiling", "k", "gamma")]
    rounded = [round(value, digits) for value, digits in zip(found, (3, 2, 3), strict=True)]
    assert rounded == [0.850, 2.08, 0.756]


# losses of 70M models after 30,000 steps by the share of the domain in a mixture of Github and Pile-CC
MIXED = np.array([0.25, 0.375, 0.5, 0.625, 0.75])
MIXED_LOSSES = {
    "github": [1.4443359375, 1.3859675481, 1.3278245192, 1.2935973874, 1.2567707015],
    "pile_cc": [3.7032881603, 3.6268907402, 3.5669533170, 3.5315907171, 3.4987331081],
}


@pytest.mark.parametrize(
    ("domain", "slope", "log_k", "mean_square"),
    [("github", -1.6405, -0.6819, 3.6705e-6), ("pile_cc", -2.5189, -0.6257, 1.6657e-6)],
)
def test_mixture_of_two_domains_is_fitted_as_published(domain, slope, log_k, mean_square):
    """Ye et al. 2024: c + e^(t r + b); printed are t, b and half of the mean square, c taken from a grid."""
    losses = np.array(MIXED_LOSSES[domain])
    law = sl.laws.fit(
        "data_mixing_2", (MIXED, 1 - MIXED), losses, space="raw", loss="squared", priors={"t_1": (0.0, 1e3)}
    )
    squares = np.sum((law.predict((MIXED, 1 - MIXED)) - losses) ** 2) / 2 / len(losses)
    assert 0.95 * mean_square < squares < 1.0005 * mean_square
    assert law.parameters["t_1"] == pytest.approx(slope, rel=0.04)
    assert np.log(law.parameters["k"]) == pytest.approx(log_k, abs=0.01)


def test_score_from_loss_is_the_sigmoid_of_the_ladder():
    """Bhagia et al. 2024 write a/(1 + e^(-k (x - x0))) + b with k < 0."""
    loss, (a, middle, k, b) = np.linspace(0.5, 2.0, 7), (0.75, 1.1, -6.0, 0.25)
    theirs = a / (1 + np.exp(-k * (loss - middle))) + b
    assert forms.get("score_from_loss")(loss, b, a, -k, middle) == pytest.approx(theirs)


# --- recovery with noise --------------------------------------------------------------------------------

SIZES, TOKENS = (1e8, 3e8, 1e9, 3e9, 1e10), (2e9, 1e10, 5e10, 3e11)
MILLION, BILLION = 1e6, 1e9
# authors' units: parameters in millions, tokens in billions
VOCABULARY = (-5.5327846803, 1.8313851560 * MILLION**0.4466063415, 0.1958423840 * MILLION**0.6707374680,
              2.1241123120 * BILLION**0.4466063415, 0.4466063415, 0.6707374680, 0.4466063415)  # fmt: skip
# form: (axes of the design, parameters in the form's order, noise, options)
RECOVERED = {
    "data_constrained": ((SIZES, TOKENS, (1e9, 4e9, 2e10)), REPEATED, 1e-3, {}),
    "vocabulary": (((3.3e7, 8.5e7, 3e8, 1.1e9), (3e6, 1e7, 3e7, 1e8), (3e8, 3e9, 3e10)), VOCABULARY, 1e-3,
                   {"space": "raw"}),
    "parallel_streams": (((5.4e8, 1e9, 2e9, 4.4e9), (1, 2, 4, 8)), (0.691, 21.7, 0.1894, 0.3935), 1e-3, {}),
    "overtrained": (((1e18, 1e19, 1e20, 1e21), (5, 20, 80, 320)), (1.51, 141.0, 190.0, 0.121), 1e-3, {}),
    "fine_grained_experts": (((6.4e7, 2.6e8, 1e9, 4e9), (1.6e10, 3.3e10, 6.6e10, 1.3e11), (1, 2, 4, 8, 16)),
                             (0.472, 18.0712, 2.0760, 30.8082, 0.1146, 0.1465, 0.5843), 1e-4, {}),
    "routed_experts": (((1.5e7, 5.5e7, 1.3e8, 3.7e8, 1.3e9), (1, 2, 4, 8, 32, 128, 512)),
                       (-0.082, -0.108, 0.009, 1.104, 1.847, 314.478), 1e-3, {}),
    "optimal_learning_rate": ((SIZES, TOKENS), (1.79, -0.713, 0.307), 0.05, {}),
    "data_transferred": (((1e5, 1e6, 1e7, 1e8), (1e6, 1e7, 1e8)), (1.9e4, 0.18, 0.38), 0.05, {}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", RECOVERED)
def test_published_parameters_lie_in_the_intervals_of_a_noisy_fit(name):
    """Within the 95 % interval widened by half: about four standard errors."""
    axes, truth, noise, options = RECOVERED[name]
    form = forms.get(name)
    x = np.array([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])
    scatter = noise * np.random.default_rng(1).standard_normal(x.shape[1])
    exact = form(x, *truth)
    y = exact + scatter if options.get("space") == "raw" else exact * np.exp(scatter)
    law = sl.laws.fit(form, tuple(x), y, **options)
    for parameter, value in zip(form.names, truth, strict=True):
        low, high = law.parameter_intervals[parameter]
        extra = (high - low) / 4
        assert low - extra <= value <= high + extra, parameter
        assert high - low < 2 * abs(value), f"{parameter}: an interval of {low:g} … {high:g} says nothing"


@pytest.mark.slow
@pytest.mark.skipif(not SCALEBENCH.exists(), reason=f"published runs are not at {SCALEBENCH}")
def test_vocabulary_law_reaches_the_published_objective_on_the_published_runs():
    """Tao et al. 2024: 1,200 checkpoints, those below 2.18e17 FLOPs left out, Huber's threshold 1e-3.

    Their code counts tokens as characters times a polynomial in ln V with V in thousands; here as there.
    """
    table = pd.concat([pd.read_parquet(SCALEBENCH / f"vocab-{part}.parquet") for part in ("train", "test")])
    n, v = table.non_vocab_parameters.to_numpy(float), table.vocab_size.to_numpy(float)
    characters, loss = table.num_characters.to_numpy(float), table.unigram_normalized_loss.to_numpy(float)
    width = np.select([n <= 5e7, n <= 2e8, n <= 5e8, n <= 1e9], [512.0, 768.0, 1024.0, 1536.0], 2048.0)

    def tokens(vocabulary):
        log_v = np.log(vocabulary)
        return characters * (0.00639222 * log_v**2 - 0.15811069 * log_v + 1.20470122)

    used = 6 * (n + v * width) * tokens(v) >= 2.18e17
    assert used.sum() == 1054
    x = np.array([n, v * width, tokens(v / 1000)])[:, used]
    errors = np.abs(forms.get("vocabulary")(x, *VOCABULARY) - loss[used])
    published = np.sum(np.where(errors <= 1e-3, errors**2 / 2, 1e-3 * (errors - 5e-4)))
    law = sl.laws.fit(
        "vocabulary", tuple(x), loss[used], space="raw", delta=1e-3, tie={"beta": "alpha"}, starts=1
    )
    assert law.objective == pytest.approx(published, rel=1e-4)
    assert law.objective <= published
    assert law.parameters["E"] == pytest.approx(VOCABULARY[0], rel=2e-3)
    assert law.parameters["alpha"] == pytest.approx(VOCABULARY[4], rel=0.01)
    assert law.parameters["alpha_vocab"] == pytest.approx(VOCABULARY[5], rel=0.03)
