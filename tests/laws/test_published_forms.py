"""The forms of published scaling laws give parameters of that size back, also with priors, ties and zeros."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws import Form, Parameter, forms, surface

DATA = Path(os.environ.get("SCALINGLAB_DATA", Path(__file__).parents[3] / "shared" / "data"))
SIZES, TOKENS = (1e8, 3e8, 1e9, 3e9, 1e10), (2e9, 1e10, 5e10, 3e11)
SHARES = np.random.default_rng(0).dirichlet(np.ones(5), size=40).T

# (axes of the design, parameters in the form's order); test_published_parameters.py says which are confirmed
PUBLISHED = {
    "overtrained": (((1e18, 1e20, 1e22), (5, 20, 80, 320)), (1.51, 141.0, 190.0, 0.121)),
    "routed_experts": (
        ((1.5e7, 5.5e7, 1.3e8, 3.7e8, 1.3e9), (1, 2, 4, 8, 32, 128, 512)),
        (-0.082, -0.108, 0.009, 1.104, 1.847, 314.478),
    ),
    "fine_grained_experts": (
        ((6.4e7, 2.6e8, 1e9, 4e9), (1.6e10, 3.3e10, 6.6e10), (1, 2, 4, 8, 16)),
        (0.47, 18.1, 2.1, 30.8, 0.115, 0.147, 0.58),
    ),
    "precision": ((SIZES, TOKENS, (3, 4, 6, 8, 16)), (2.76, 4.3e3, 1.81e4, 0.4965, 0.4965, 2.67)),
    "quantized_after_training": ((SIZES, TOKENS, (3, 4, 5, 6)), (0.0598, 0.5068, 0.3439, 0.5907)),
    "parallel_streams": (((5e8, 1e9, 2e9, 4.4e9), (1, 2, 4, 8)), (0.691, 21.7, 0.1894, 0.3935)),
    "optimal_learning_rate": ((SIZES, TOKENS), (1.79, -0.713, 0.307)),
    "data_transferred": (((1e5, 1e6, 1e7, 1e8), (1e6, 1e7, 1e8)), (1.9e4, 0.18, 0.38)),
    "transfer": (
        ((1e6, 1e7, 1e8, 1e9), (1e5, 1e6, 1e7, 1e8, 1e9), (0, 1)),
        (8.8e13, 5.4e13, 0.076, 0.095, 1.9e4, 0.18, 0.38),
    ),
    "data_constrained": ((SIZES, (2e9, 1e10, 5e10, 3e11), (1e9, 4e9, 2e10)),
                         (1.87, 521.0, 1488.0, 0.353, 0.353, 15.39, 5.31)),
}  # fmt: skip


def grid(axes):
    return np.array([v.ravel() for v in np.meshgrid(*axes, indexing="ij")])


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_parameters_are_recovered_from_their_own_curve(name):
    axes, values = PUBLISHED[name]
    form = forms.get(name)
    x = grid(axes)
    assert len(values) == len(form.names)
    law = surface.fit(loss=form(x, *values), form=name, variables=dict(zip(form.variables, x, strict=True)))
    assert [law.parameters[n] for n in form.names] == pytest.approx(values, rel=2e-3)
    assert law.objective < 1e-12


def test_vocabulary_law_of_negative_losses_is_fitted_in_raw_values():
    x = grid(((3.3e7, 8.5e7, 3e8, 1.1e9), (3e6, 1e7, 3e7, 1e8), (1e9, 1e10, 1e11)))
    truth = (
        -5.53,
        875.0,
        2070.0,
        2.2e4,
        0.447,
        0.671,
        0.447,
    )  # Tao et al. 2024, in single parameters and tokens
    loss = forms.get("vocabulary")(x, *truth)
    assert loss.min() < 0
    law = surface.fit(
        loss=loss, form="vocabulary", non_vocab_params=x[0], vocab_params=x[1], n_chars=x[2],
        space="raw", delta=np.inf,
    )  # fmt: skip
    assert list(law.parameters.values()) == pytest.approx(truth, rel=1e-3)


def test_distillation_law_is_recovered_with_the_supervised_law_held():
    supervised = (1.220, 3355.0, 18186.0, 0.408, 0.431, 0.452)
    truth = (2.549, 522.6, 1.315, 0.0903, 2243.0, 24181.0, 0.321, 0.637, 0.764)
    x = grid(((1.4e8, 5e8, 1.8e9, 7e9), (4e9, 3e10, 2.5e11), (1.9, 2.1, 2.3, 2.5)))
    form = forms.get("distillation")
    loss = form(x, *truth, *supervised)
    names = ("E_s", "A_s", "B_s", "alpha_s", "beta_s", "gamma_s")
    law = surface.fit(
        loss=loss, form="distillation", n_params=x[0], n_data=x[1], teacher_loss=x[2],
        bounds={n: (v, v) for n, v in zip(names, supervised, strict=True)}, delta=np.inf,
    )  # fmt: skip
    assert law.predict(dict(zip(form.variables, x, strict=True))) == pytest.approx(loss, rel=1e-4)
    assert law.c0 == pytest.approx(2.549, rel=0.05)


def test_runs_of_one_sparsity_tell_nothing_of_its_power_which_is_then_none():
    x = grid(((1e6, 1e7, 1e8, 1e9), (1e8, 1e10), (0.5,)))
    held = {"A": 50.0, "B": 300.0, "C": 0.4, "F": 0.0, "alpha": 0.3, "beta": 0.3, "delta": 0.0, "gamma": 0.3}
    law = surface.fit(
        loss=1.9 + 50 * x[0] ** -0.3 + 300 * x[1] ** -0.3, form="sparsity", n_params=x[0], n_data=x[1],
        sparsity=x[2], bounds={name: (value, value) for name, value in held.items()},
    )  # fmt: skip
    assert [law.lam, law.E] == pytest.approx([0.0, 1.5], abs=1e-3)


def test_step_law_of_the_optimal_batch_is_recovered():
    tokens = np.geomspace(2e9, 1e11, 8)
    law = sl.laws.fit("optimal_batch_size", tokens, 0.58 * tokens**0.571)
    assert law.exponent == pytest.approx(0.571)


def test_learning_rate_and_batch_paraboloid_is_recovered():
    form = forms.get("learning_rate_batch")
    truth = (1.7, 0.22, 0.12, 0.3, 0.35, 0.1, 1e-3, -0.6, 0.25, 800.0, 0.5, 0.008, 0.004, -0.4)
    x = grid((np.geomspace(1e-4, 1e-2, 5), (64, 256, 1024), (1e8, 4e8, 1e9), (5e9, 2e10, 1e11)))
    law = surface.fit(loss=form(x, *truth), form=form, variables=dict(zip(form.variables, x, strict=True)))
    assert list(law.parameters.values()) == pytest.approx(truth, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["data_mixing_5", "mixture_power_5"])
def test_mixtures_allow_shares_of_zero(name):
    form = forms.get(name)
    truth = (1.2, 0.8, 0.1, 0.3, 0.05, 0.2, 0.4, 0.3)[: len(form.names)]
    x = SHARES.copy()
    x[:, ::4] *= np.arange(5)[:, None] != 1  # one domain left out of every fourth mixture
    x /= x.sum(0)
    y = form(x, *truth) * np.exp(1e-4 * np.random.default_rng(1).standard_normal(x.shape[1]))
    law = surface.fit(loss=y, form=name, variables=dict(zip(form.variables, x, strict=True)))
    assert law.predict(dict(zip(form.variables, x, strict=True))) == pytest.approx(y, rel=1e-3)
    with pytest.raises(BadInput, match=r"share_2=-0\.1"):
        law.predict(dict(zip(form.variables, (1.0, -0.1, 0.1, 0.0, 0.0), strict=True)))


@pytest.mark.slow
def test_a_domain_that_helps_less_than_the_others_is_fitted():
    """The loss rises with the domain's own share: from small weights alone a fit ends at gamma = 0."""
    form, x = forms.get("mixture_power_3"), np.random.default_rng(2).dirichlet(np.ones(3), size=15).T
    y = form(x, 1.2, 0.8, 0.3, 0.1, 0.8, 0.3)
    law = sl.laws.fit(form, tuple(x), y)
    assert law.predict(dict(zip(form.variables, x, strict=True))) == pytest.approx(y, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("domains", [3, pytest.param(8, marks=pytest.mark.nightly)])
def test_the_order_of_domains_changes_nothing(domains):
    """The domain that matters may be any of the columns."""
    form, rng = forms.get(f"mixture_power_{domains}"), np.random.default_rng(4)
    x = rng.dirichlet(np.ones(domains), size=60).T
    y = form(x, 1.2, 0.8, 0.3, *np.r_[np.full(domains - 1, 0.05), 1.0])
    y = y * np.exp(2e-3 * rng.standard_normal(60))
    first, last = (sl.laws.fit(form, tuple(each), y) for each in (x, x[::-1]))
    assert first.certificate.converged
    assert first.objective == pytest.approx(last.objective, rel=1e-4)
    assert first.parameters[f"t_{domains}"] == pytest.approx(last.parameters["t_1"], rel=0.02)
    assert first.parameters[f"t_{domains}"] > 5 * first.parameters["t_1"]


def test_a_fit_that_has_not_moved_has_not_converged():
    """A form without a slope at its only start: the fit ends where it began, and says so."""
    flat = Form(
        "stairs", "a + b floor(c x)", (Parameter("a", linear=True), Parameter("c", 0.0, 9.0, start=(0.5,))),
        lambda x, a, c: a + 0 * x + np.floor(c + 0 * x),
    )  # fmt: skip
    law = sl.laws.fit(flat, np.arange(1.0, 9.0), 3 + np.random.default_rng(0).random(8))
    assert not law.certificate.converged
    assert "NOT converged" in law.summary()


NOISY = {
    "experts_with_floor": (((1e8, 3e8, 1e9, 3e9), (1, 4, 16, 64)), (1.7, 40.0, 0.22, 0.08), {}),
    "active_experts": (
        ((1e8, 4e8, 2e9), (4e9, 1.6e10, 6.4e10), (1e10, 5e10, 3e11)),
        (1.7, 400.0, 900.0, 0.33, 0.3, 0.12), {},
    ),
    "upcycled": (((1e9, 1e10, 1e11, 1e12), (1e9, 1e10, 1e11, 5e11)), (1.4, 0.9, 0.12, 0.2, 0.015), {}),
    "annealed_surface": (
        ((1e8, 3e8, 1e9, 3e9), (1.0, 3.0, 10.0), (0.0, 0.1, 0.3)), (1.7, 400.0, 0.6, 0.4, 0.33, 0.5), {},
    ),
    "critical_batch_size": ((SIZES, TOKENS), (20.0, 0.05, 0.47), {}),
    "saturating_score": ((np.geomspace(1, 1e5, 24),), (0.1, 0.7, 0.6, 300.0), {"space": "raw"}),
    "pass_at_k": ((np.geomspace(1, 1e4, 15),), (2.5, 0.35), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", NOISY)
def test_known_parameters_are_recovered_from_noisy_points(name):
    axes, truth, options = NOISY[name]
    form, x = forms.get(name), grid(axes)
    at = x if len(x) > 1 else x[0]
    y = form(at, *truth) * np.exp(1e-3 * np.random.default_rng(5).standard_normal(x.shape[1]))
    law = sl.laws.fit(form, tuple(at) if len(x) > 1 else at, y, **options)
    ends = law.parameter_intervals
    held = [ends[n].low <= value <= ends[n].high for n, value in zip(form.names, truth, strict=True)]
    assert sum(held) >= len(held) - 1  # of 95 % each
    assert law.certificate.converged
    assert [law.parameters[n] for n in form.names] == pytest.approx(truth, rel=0.35)


def test_as_many_runs_as_parameters_are_said_to_give_no_interval():
    n, step = grid(((1e8, 3e8, 1e9, 3e9), (1e3, 1e4, 1e5, 1e6)))
    noise = np.exp(2e-3 * np.random.default_rng(0).standard_normal(16))
    law = surface.fit(
        loss=(6 * n**-0.076 + 30 * step**-0.5) * noise, form="kaplan_time", n_params=n, step=step, runs=n
    )
    assert "4 runs for 4 parameters leave no scatter" in law.summary()


def test_a_tie_takes_one_exponent_for_both_and_keeps_the_optimum():
    n, d = grid((SIZES, TOKENS))
    loss = 1.8 + 400 * n**-0.35 + 900 * d**-0.35
    law = surface.fit(n, d, loss, tie={"beta": "alpha"})
    assert law.beta == law.alpha == pytest.approx(0.35)
    free = surface.fit(n, d, loss)
    assert law.compute_optimal(1e21, intervals=False).n_params == pytest.approx(
        free.compute_optimal(1e21, intervals=False).n_params, rel=1e-4
    )
    assert "tied to alpha" in law.law.summary()
    with pytest.raises(BadInput, match="tie beta=beta"):
        surface.fit(n, d, loss, tie={"beta": "beta"})


@pytest.mark.slow
def test_a_prior_decides_what_few_noisy_points_do_not():
    random = np.random.default_rng(5)
    x = np.geomspace(1e3, 4e3, 6)
    y = (0.1 + 5 * x**-0.4) * np.exp(0.02 * random.standard_normal(6))
    free = sl.laws.fit("power_law_offset", x, y)
    guided = sl.laws.fit("power_law_offset", x, y, priors={"exponent": (0.4, 0.02)})
    assert abs(guided.parameters["exponent"] - 0.4) < 0.02 < abs(free.parameters["exponent"] - 0.4)
    many = np.geomspace(1e2, 1e6, 60)
    clear = sl.laws.fit("power_law_offset", many, 0.1 + 5 * many**-0.6, priors={"exponent": (0.4, 0.1)})
    assert clear.parameters["exponent"] == pytest.approx(0.6, abs=1e-3)  # data that decide are not overruled
    with pytest.raises(BadInput, match=r"'exponent': \(0\.4, 0\)"):
        sl.laws.fit("power_law", x, y, priors={"exponent": (0.4, 0.0)})


def test_prior_of_a_mean_is_the_conjugate_answer():
    """One linear parameter: the fit is (Σ y/σ² + m/s²)/(n/σ² + 1/s²), whatever the optimizer does."""
    level = Form("level", "a", (Parameter("a", linear=True),), lambda x, a: a + 0 * x)
    x, y = np.arange(1.0, 6.0), np.array([1.0, 1.2, 0.9, 1.1, 1.3])
    law = sl.laws.fit(level, x, y, space="raw", loss="squared", priors={"a": (2.0, 0.05)}, noise=0.15)
    expected = (y.sum() / 0.15**2 + 2.0 / 0.05**2) / (5 / 0.15**2 + 1 / 0.05**2)
    assert law.parameters["a"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_a_form_of_the_user_is_loaded_by_module_and_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_forms_of_mine.py").write_text(
        "import numpy as np\nfrom scalinglab.laws import Form, Parameter\n"
        "both = tuple(Parameter(n, linear=True) for n in 'ab')\n"
        "log_form = Form('log_form', 'a - b ln x', both,\n"
        "    lambda x, a, b: a - b * np.log(x))\nnumber = 3\n"
    )
    x = np.geomspace(10, 1e4, 9)
    law = sl.laws.fit("own_forms_of_mine:log_form", x, 3 - 0.2 * np.log(x))
    assert law.parameters == pytest.approx({"a": 3.0, "b": 0.2})
    noisy = sl.laws.fit("own_forms_of_mine:log_form", x, (3 - 0.2 * np.log(x)) * np.exp(1e-3 * np.sin(9 * x)))
    answer = sl.laws.plan.size_for(noisy, 1.0)  # beyond x = e^15 the form is negative, which is no warning
    assert answer.low < np.exp(10) < answer.high < 1.2 * np.exp(10)
    with pytest.raises(BadInput, match=r"own_forms_of_mine:number.* int"):
        forms.get("own_forms_of_mine:number")
    with pytest.raises(BadInput, match=r"no_such_module_here\.py"):
        forms.get("no_such_module_here:form")


def test_models_that_name_their_size_are_no_mixture():
    from scalinglab.laws.fitting.data.from_curves import points_of

    frame = pd.DataFrame({
        "model": np.repeat(["70M", "160M", "410M"], 3), "n_params": np.repeat([7e7, 1.6e8, 4.1e8], 3),
        "n_data": np.tile([1e9, 2e9, 4e9], 3), "loss": np.linspace(4, 3, 9),
    })  # fmt: skip
    assert len(points_of(frame, ["n_params", "n_data"], "loss").y) == 9
    with pytest.raises(BadInput, match="--mixed"):
        points_of(frame, "n_data", "loss")  # the size is no variable of this law
    assert len(points_of(frame, "n_data", "loss", mixed=True).y) == 9
    two = frame.assign(model=["a", "b", "a"] * 3)
    with pytest.raises(BadInput, match="2 values of model"):
        points_of(two, ["n_params", "n_data"], "loss")


def test_a_name_for_every_row_of_sizes_is_no_mixture():
    """Runs that are called a, b, c…: one name for each pair of n_params and n_data."""
    from scalinglab.laws.fitting.data.from_curves import points_of

    frame = pd.DataFrame(
        {
            "model": list("abcdefghi"), "n_params": np.repeat([7e7, 1.6e8, 4.1e8], 3),
            "n_data": np.tile([1e9, 4e9, 1.6e10], 3), "loss": np.linspace(4, 2, 9),
        }
    )  # fmt: skip
    assert len(points_of(frame, ["n_params", "n_data"], "loss").y) == 9
    with pytest.raises(BadInput, match="9 values of model"):  # nothing says that these are sizes
        points_of(frame.drop(columns="n_params"), "n_data", "loss")
    with pytest.raises(BadInput, match="2 values of model"):
        points_of(frame.assign(model=list("ababababa")), ["n_params", "n_data"], "loss")


def test_names_of_bits_of_mixtures_and_of_sizes_behind_compute_are_no_mixture():
    from scalinglab.laws.fitting.data.from_curves import points_of

    size, ratio = grid(([1e8, 4e8, 1.6e9], [5, 20, 80, 320]))
    frame = pd.DataFrame({
        "n_params": size, "tokens_per_param": ratio, "compute": 6 * size**2 * ratio,
        "bits": np.tile([4, 8, 16], 4), "loss": np.linspace(4, 3, 12),
        "model": [f"{v / 1e6:.0f}M" for v in size],
    })  # fmt: skip
    assert len(points_of(frame, ["compute", "tokens_per_param"], "loss").y) == 12
    with pytest.raises(BadInput, match="3 values of model"):
        points_of(frame, ["bits", "tokens_per_param"], "loss")  # sizes are no variable of this law
    named = frame.assign(model=[f"int{v}" for v in frame.bits])
    assert len(points_of(named, ["tokens_per_param", "bits"], "loss").y) == 12
    named = frame.assign(model=list("abcdefghijkl"), share=np.linspace(0, 1, 12))
    assert len(points_of(named, "share", "loss").y) == 12  # a name for every mixture


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not (DATA / "learning-curves/scalebench").is_dir(), reason="scalebench is not at hand")
def test_data_constrained_points_leave_the_half_life_of_repeats_open():
    """182 published points: the objective changes by a tenth for R_D from 15 to 300, by two thirds at 4."""
    parts = [pd.read_parquet(DATA / f"learning-curves/scalebench/data_constrained-{p}.parquet")
             for p in ("train", "test")]  # fmt: skip
    frame = pd.concat(parts)
    assert len(frame) == 182
    named = {"n_params": frame.params, "n_data": frame.tokens, "n_unique": frame.unique_tokens}

    def objective(repeat):
        bounds = {"repeat_data": (repeat, repeat)}
        return surface.fit(
            loss=frame.loss, form="data_constrained", variables=named, bounds=bounds, tie={"beta": "alpha"}
        ).objective

    at = {r: objective(r) for r in (4.0, 15.0, 60.0, 300.0)}
    best = min(at.values())
    assert at[15.0] < 1.12 * best
    assert at[300.0] < 1.12 * best
    assert at[4.0] > 1.5 * best
