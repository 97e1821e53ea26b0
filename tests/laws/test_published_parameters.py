"""Forms against what their authors published: runs and fits from their repositories, and their parameters.

| form | source |
| --- | --- |
| `data_constrained` | README of huggingface/datablations, "Parametric Fit" |
| `vocabulary` | sail-sg/scaling-with-vocab: approach3_isoloss.py, optimal_Nv_predict.py, exp_data.csv |
| `parallel_streams` | parametric_fit.py of ParScale: the 48 losses of the paper's fit |
| `overtrained`, `error_from_loss` | mlfoundations/scaling: the runs on C4 of the paper's default fit |
| `fine_grained_experts` | scaling_laws/plotND.py of llm-random/llm-random, the authors' fit to four digits |
| `data_mixing_2` | yegcjs/mixinglaws: losses of 70M models and the fits that mix_2_domains.ipynb prints |
| `optimal_learning_rate`, `optimal_batch_size` | the step law, as OLMo-core quotes it; optima of its runs |
| `precision`, `quantized_after_training` | the paper's text, appendix K, table 2 |
| `coupled`, `distillation` | the paper's text, equations 1 and 8, table 6; figure 40 |
| `score_from_loss`, `chinchilla` of a task | the paper's text, tables 1 and 5; the predictions of figure 2 |
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


def design(*axes):
    """Every combination, (variables, points)."""
    return np.array([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])


def assert_within_intervals(law, truth, wide=()):
    """Within the 95 % interval widened by half, about four standard errors, and of use unless in `wide`."""
    intervals = law.parameter_intervals
    for parameter in intervals.keys() & truth.keys():
        (low, high), value = intervals[parameter], truth[parameter]
        extra = (high - low) / 4
        assert low - extra <= value <= high + extra, parameter
        assert parameter in wide or high - low < 2 * abs(value), (
            f"{parameter}: {low:g} … {high:g} says nothing"
        )


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
    squares = np.sum((law.at((MIXED, 1 - MIXED)) - losses) ** 2) / 2 / len(losses)
    assert 0.95 * mean_square < squares < 1.0005 * mean_square
    assert law.parameters["t_1"] == pytest.approx(slope, rel=0.04)
    assert np.log(law.parameters["k"]) == pytest.approx(log_k, abs=0.01)


# Bhagia et al. 2024, table 5: A, alpha, B, beta, E of the task's loss; a, k, L0, b of its score,
# a/(1 + e^(-k (L - L0))) + b; figure 2: per cent predicted for the two targets
LADDER = {
    "MMLU": ((38.07, 0.23, 100.09, 0.24, 0.45), (-0.74, 4.83, 0.62, 1.00), (48.4, 51.3)),
    "HellaSwag": ((11.23, 0.20, 60.37, 0.26, 0.50), (-0.73, 12.74, 0.77, 0.99), (82.5, 85.3)),
    "ARC-Challenge": ((702974.93, 0.79, 38.45, 0.20, 0.65), (-0.78, 5.91, 0.71, 1.00), (51.5, 52.7)),
    "ARC-Easy": ((79412.07, 0.66, 3957.51, 0.42, 0.56), (-0.65, 4.13, 0.74, 1.00), (76.6, 77.2)),
    "PIQA": ((405.66, 0.40, 10.16, 0.15, 0.72), (-0.46, 5.03, 0.96, 1.00), (81.2, 82.1)),
    "CommonsenseQA": ((56.86, 0.23, 10.91, 0.11, 0.00), (-0.86, 2.21, 1.13, 1.00), (75.7, 77.6)),
    "Social IQa": ((1200.94, 0.45, 7897.19, 0.48, 0.95), (-0.60, 7.16, 0.89, 1.00), (58.7, 59.9)),
    "OpenBookQA": ((86346.32, 0.69, 137.35, 0.26, 1.20), (-0.79, 4.31, 1.08, 1.00), (44.2, 44.9)),
}
LADDER_SIZES = np.array(
    [190354176.0, 371262464, 758220288, 1279395840]
)  # table 1; tokens 20 N times 1, 2, 5, 10
LADDER_TARGETS = (np.array([6887575552.0, 13202396160]), np.array([3.95e12, 5e12]))


def ladder_score(x, loss, score):
    """Both stages by our forms: (A, alpha, B, beta, E) and (a, k, L0, b) as printed."""
    (a, alpha, b, beta, floor), (span, k, middle, top) = loss, score
    losses = forms.get("chinchilla")(x, floor, a, b, alpha, beta)
    return losses, forms.get("score_from_loss")(losses, top + span, -span, k, middle)


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[pytest.mark.slow] * (k > 2)) for k, task in enumerate(LADDER)]
)
def test_ladder_gives_the_printed_predictions_as_far_as_its_printed_digits_allow(task):
    loss, score, printed = LADDER[task]
    random, half = np.random.default_rng(0), 0.005  # parameters are printed to two digits
    unrounded = [
        100
        * ladder_score(
            LADDER_TARGETS, *(np.add(p, random.uniform(-half, half, len(p))) for p in (loss, score))
        )[1]
        for _ in range(400)
    ]
    low, high = np.min(unrounded, axis=0), np.max(unrounded, axis=0)
    assert (low <= printed).all()
    assert (printed <= high).all()
    assert (high - low < 10).all()  # points of accuracy: the bounds say something


def test_scores_of_the_ladder_are_predicted_by_its_own_functions():
    """16 models of MMLU, by the paper's functions: those of 7B and 13B lie in the intervals."""
    loss, score, _ = LADDER["MMLU"]
    n = np.repeat(LADDER_SIZES, 4)
    x = (n, 20 * n * np.tile([1.0, 2, 5, 10], 4))
    losses, scores = ladder_score(x, loss, score)
    table = pd.DataFrame({"n_params": x[0], "n_data": x[1], "loss": losses, "accuracy": scores})
    at = dict(zip(("n_params", "n_data"), LADDER_TARGETS, strict=True))
    # from the noise that a sigmoid may stray by, the interval of 13B is half as wide as its score
    found = sl.laws.downstream(table, chance=0.25, at=at, widest=0.5)
    truth = ladder_score(LADDER_TARGETS, loss, score)[1]
    assert (found.low <= truth).all()
    assert (truth <= found.high).all()


# Busbridge et al. 2025, table 6: E, A, B, alpha, beta, gamma, and c0, c1, d1, f1, A, B, alpha, beta, gamma
SUPERVISED = (1.220, 3355.0, 18186.0, 0.408, 0.431, 0.452)
DISTILLED = (2.549, 522.6, 1.315, 0.090, 2243.0, 24181.0, 0.321, 0.637, 0.764)
HELD = dict(
    zip(("E_s", "A_s", "B_s", "alpha_s", "beta_s", "gamma_s"), ((v, v) for v in SUPERVISED), strict=True)
)


def test_best_teacher_and_endless_data_give_what_a_student_reaches_alone():
    """Figure 40: a consistency that was not imposed, seen from 100 M to 100 B parameters.

    The exponent c1 amplifies the digits of f1: over its interval, 0.088 … 0.093, the law moves by 2 %.
    """
    sizes, teachers = np.geomspace(1e8, 1e11, 7), np.linspace(1.3, 4.0, 2000)
    endless = 1e30
    x = design(sizes, [endless], teachers)
    distilled = forms.get("distillation")(x, *DISTILLED, *SUPERVISED).reshape(7, -1).min(axis=1)
    alone = forms.get("coupled")((sizes, np.full(7, endless)), *SUPERVISED)
    assert distilled == pytest.approx(alone, rel=0.01)


@pytest.mark.slow
def test_distillation_is_recovered_as_far_as_students_determine_it():
    """c1 and d1 go together (c1's published interval has no width: it is held), and so do A, B and gamma."""
    form = forms.get("distillation")
    x = design((1.43e8, 5.46e8, 1.8e9, 7.75e9), (4e9, 3e10, 2.5e11), np.linspace(1.9, 2.65, 5))
    noise = 1e-4 * np.random.default_rng(1).standard_normal(x.shape[1])
    y = form(x, *DISTILLED, *SUPERVISED) * np.exp(noise)
    law = sl.laws.fit(form, tuple(x), y, bounds={**HELD, "c1": (522.6, 522.6)})
    assert_within_intervals(law, dict(zip(form.names, DISTILLED, strict=False)), wide=("A", "B", "beta"))


TABLES = Path(__file__).parents[2] / "examples" / "tables"


def test_step_law_comes_back_from_the_optima_of_its_published_runs():
    """Li et al. 2025: rate ∝ N^-0.713 D^0.307, batch ∝ D^0.571; 41 optima, inside the rates tried."""
    optima = pd.read_csv(TABLES / "step_law_optima.csv")
    law = surface.fit(
        optima, form="optimal_learning_rate", x=("n_params", "n_data"), y="learning_rate", delta=np.inf
    )
    ends = law.parameter_intervals()
    assert ends["by_params"].low < -0.713 < ends["by_params"].high < -0.5
    assert 0.2 < ends["by_data"].low < 0.307 < ends["by_data"].high
    twice = pd.concat([optima, optima.assign(learning_rate=2 * optima.learning_rate)])
    found = sl.laws.fit("optimal_learning_rate", twice, x=("n_params", "n_data"), y="learning_rate")
    assert not any("learning_rate" in str(note) for note in found.points.notes)  # that is what is fitted
    batch = sl.laws.fit("optimal_batch_size", optima.n_data, optima.batch_size)
    low, high = batch.parameter_intervals["by_data"]
    assert 0.35 < low < 0.571 < high
    assert batch.parameters["by_data"] == pytest.approx(0.571, abs=0.08)


# --- recovery with noise --------------------------------------------------------------------------------

SIZES, TOKENS = (1e8, 3e8, 1e9, 3e9, 1e10), (2e9, 1e10, 5e10, 3e11)
SMALL, FEW = (3e7, 6e7, 1.1e8, 2.2e8), (1.5e9, 3e9, 6e9, 1.3e10, 2.6e10)  # of the runs in low precision
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
    "coupled": ((np.geomspace(1.43e8, 1.26e10, 8), np.geomspace(2e9, 5.12e11, 8)), SUPERVISED, 1e-3, {}),
    "precision": ((SMALL, FEW, (3, 4, 5, 6, 8, 12)), (2.7648, 4.299e3, 1.806e4, 0.4965, 0.4965, 2.6745), 1e-3,
                  {"tie": {"beta": "alpha"}}),
    "quantized_after_training": ((SMALL, FEW, (3, 4, 5, 6)), (0.0598, 0.5068, 0.3439, 0.5907), 0.02, {}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", RECOVERED)
def test_published_parameters_lie_in_the_intervals_of_a_noisy_fit(name):
    axes, truth, noise, options = RECOVERED[name]
    form = forms.get(name)
    x = design(*axes)
    scatter = noise * np.random.default_rng(1).standard_normal(x.shape[1])
    exact = form(x, *truth)
    y = exact + scatter if options.get("space") == "raw" else exact * np.exp(scatter)
    law = sl.laws.fit(form, tuple(x), y, **options)
    assert_within_intervals(law, dict(zip(form.names, truth, strict=True)))


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
