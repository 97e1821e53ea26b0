"""The loss of mixtures: against laws that are known, in any order, and where a proposal must be refused."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.mixing import process
from tests.refusals import because

WEIGHTS = {"web": -0.2, "code": -0.05, "books": -0.12, "chat": 0.02}


def ln_loss(shares):
    return 1.2 + np.sqrt(np.maximum(shares, 0)) @ [*WEIGHTS.values()]


def runs(count=40, seed=0, noise=0.002, spread=1.0, sizes=False):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(len(WEIGHTS), spread), count)
    value = ln_loss(shares) + noise * rng.standard_normal(count)
    table = pd.DataFrame(shares, columns=[*WEIGHTS])
    if sizes:
        table["n_params"], table["n_data"] = rng.choice([1e6, 4e6, 1.6e7], (2, count)) * [[1.0], [100.0]]
        value = value - 0.05 * np.log(table.n_params / 1e6) - 0.03 * np.log(table.n_data / 1e8)
    return table.assign(loss=np.exp(value))


@pytest.fixture(scope="module")
def fitted():
    return sl.laws.mixture(runs(), shares=[*WEIGHTS], y="loss")


def test_mixtures_that_were_not_run_are_predicted_within_their_intervals(fitted):
    others = runs(400, seed=1)
    found = fitted.predict(others)
    inside = (found["low"] <= others.loss) & (others.loss <= found["high"])
    assert 0.88 <= inside.mean() <= 1.0
    assert np.std(np.log(found["mean"] / others.loss)) < 0.005  # of 0.002 noise; the losses spread by 0.05


def test_neither_the_order_of_columns_nor_that_of_rows_changes_a_digit(fitted):
    turned = sl.laws.mixture(runs().sample(frac=1, random_state=1), shares=[*WEIGHTS][::-1], y="loss")
    others = runs(20, seed=2)
    assert turned.predict(others[[*others][::-1]])["mean"].to_numpy() == pytest.approx(
        fitted.predict(others)["mean"].to_numpy(), rel=1e-9
    )


def test_runs_of_many_domains_are_not_taken_for_exact():
    """Eighty runs of twelve domains can be passed through, and the proposal looked ten times as sure."""
    rng, noise, names = np.random.default_rng(0), 5e-4, [f"domain_{j}" for j in range(12)]
    shares, weights = rng.dirichlet(np.full(12, 1.5), 80), rng.uniform(-1.5, 0.7, 12)
    loss = (2.2 + 0.9 * np.exp(shares @ weights)) * np.exp(noise * rng.standard_normal(80))
    table = pd.DataFrame(shares, columns=names).assign(loss=loss)
    best = sl.laws.mixture(table, shares=names, y="loss").best()
    assert best.loss.stderr > noise * best.loss.value
    assert best.loss.low <= 2.2 + 0.9 * np.exp(np.array([*best.shares.values()]) @ weights) <= best.loss.high


def test_a_domain_may_be_missing_beside_a_column_of_no_known_name():
    table = runs().assign(index=range(40))
    table.loc[[3, 8, 20], "code"] = 0.0
    plain = sl.laws.mixture(table.drop(columns="index"), shares=[*WEIGHTS], y="loss").predict(table)
    assert sl.laws.mixture(table, shares=[*WEIGHTS], y="loss").predict(table).equals(plain)


def test_a_proposal_is_as_good_as_the_optimum_of_the_law(fitted):
    best = fitted.best()
    hull = runs()[[*WEIGHTS]].to_numpy()  # the least of the law among mixtures of the runs' mixtures
    truth = minimize(lambda z: ln_loss(np.exp(z) / np.exp(z).sum() @ hull), np.zeros(len(hull))).fun
    assert ln_loss(np.array([*best.shares.values()])) == pytest.approx(truth, abs=0.01)
    assert best.loss.low <= np.exp(ln_loss(np.array([*best.shares.values()]))) <= best.loss.high
    assert sum(best.shares.values()) == pytest.approx(1.0)
    assert best.distance <= 1.0
    said = [(one.details["name"], one.details["share"]) for one in best.remarks if one.code == "share"]
    largest = sorted(best.shares.items(), key=lambda item: -item[1])
    assert said == [(name, 100 * share) for name, share in largest if 100 * share >= 0.05]


def test_mixtures_say_how_well_left_out_runs_are_predicted_and_which_domains_matter(fitted):
    said = {one.code: one.details for one in fitted.remarks}
    assert said["mixtures_left_out"]["error"] == pytest.approx(0.2, rel=0.3), "the noise, in percent"
    assert said["mixtures_left_out"]["rank"] > 0.98
    order = fitted.notebook_table().sort_values("sensitivity", ascending=False)["domain"]
    assert said["mixtures_matter"]["domains"] == (*order,)


def test_a_proposal_keeps_to_its_constraints_and_to_the_text_there_is(fitted):
    best = fitted.best(constraints={"web": (0.0, 0.3), "code": 0.1})
    assert best.shares["web"] <= 0.3 + 1e-9
    assert best.shares["code"] == pytest.approx(0.1, abs=1e-6)
    assert best.shares["web"] == pytest.approx(0.3, abs=0.03)  # the law wants more of it
    few = fitted.best(repeat={"web": 5e9}, like={"n_data": 1e11, "web": 1.0})
    assert few.shares["web"] <= 4 * 5e9 / 1e11 + 1e-9
    assert few.like is not None
    assert few.like.low < np.exp(ln_loss(np.array([1.0, 0, 0, 0]))) < few.like.high


@pytest.mark.slow
@pytest.mark.parametrize("draws", [12, pytest.param(30, marks=pytest.mark.nightly)])
def test_a_mixture_that_looks_best_lies_in_its_interval_though_such_ones_are_noisy(draws):
    """Runs of 2 % noise where one domain prevails, which are the best, and of 0.3 % elsewhere."""

    def drawn(random):
        shares = random.dirichlet(np.ones(3), 80)
        noise = np.where(shares[:, 0] > 0.6, 0.02, 0.003) * random.standard_normal(80)
        log_loss = 1.2 + np.sqrt(shares) @ [-0.2, -0.05, -0.12] + noise
        return pd.DataFrame(shares, columns=["web", "code", "books"]).assign(loss=np.exp(log_loss))

    held = []
    for seed in range(1000, 1000 + draws):
        random = np.random.default_rng(seed)
        found = sl.laws.mixture(drawn(random), shares=["web", "code", "books"], y="loss")
        others = drawn(random)
        told = found.predict(others)
        best = told["high"].idxmin()
        held.append(told["low"][best] <= others["loss"][best] <= told["high"][best])
    assert np.mean(held) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(held))


def test_mixtures_off_the_runs_are_refused():
    narrow = runs(spread=30.0)  # every share near a quarter
    found = sl.laws.mixture(narrow, shares=[*WEIGHTS], y="loss")
    with pytest.raises(NotDetermined, check=because("mixture_outside")):
        found.best(constraints={"code": (0.8, 1.0)})
    far = found.predict(pd.DataFrame([{"web": 0.0, "code": 1.0, "books": 0.0, "chat": 0.0}]))
    assert not far["supported"].iloc[0]
    near = found.predict(narrow.iloc[:1])
    assert far["high"].iloc[0] / far["low"].iloc[0] > 2 * near["high"].iloc[0] / near["low"].iloc[0] - 1
    assert max(found.best().shares.values()) <= narrow[[*WEIGHTS]].to_numpy().max() + 1e-9


@pytest.mark.slow
def test_collinear_missing_and_empty_domains_are_taken_as_they_are():
    table = runs()
    twice = table.assign(web=table.web / 2, news=table.web / 2)  # always as much of one as of the other
    both = sl.laws.mixture(twice, shares=["news", *WEIGHTS], y="loss")
    others = runs(50, seed=3)
    predicted = both.predict(others.assign(web=others.web / 2, news=others.web / 2))["mean"]
    assert np.std(np.log(predicted / others.loss)) < 0.006
    without = sl.laws.mixture(table.drop(columns="chat"), shares=["web", "code", "books"], y="loss")
    assert without.shares[-1] == "rest"  # what the shares leave of one
    assert np.std(np.log(without.predict(others)["mean"] / others.loss)) < 0.006
    empty = sl.laws.mixture(table.assign(maths=np.nan), shares=["maths", *WEIGHTS], y="loss")
    assert empty.best().shares["maths"] == 0


def test_sizes_are_taken_along_where_they_vary():
    found = sl.laws.mixture(runs(60, sizes=True), shares=[*WEIGHTS], y="loss")
    assert found.sizes == ("n_params", "n_data")
    others = runs(60, seed=4, sizes=True)
    beyond = others.assign(n_params=6.4e7)
    truth = np.log(others.loss) - 0.05 * np.log(6.4e7 / others.n_params)
    assert np.std(np.log(found.predict(beyond)["mean"]) - truth) < 0.01
    best = found.best(like={"n_params": 6.4e7})  # of which no run says how the loss goes on
    assert best.sizes["n_params"] == pytest.approx(others.n_params.max())
    assert best.beyond == {"n_params": 6.4e7}
    assert found.best(like={"n_params": best.sizes["n_params"]}).beyond == {}
    with pytest.raises(BadInput, match="n_data"):
        found.predict(others.drop(columns="n_data"))


def test_a_run_without_a_size_is_not_counted_and_one_without_a_share_is():
    table = runs(60, sizes=True)
    table.loc[0, "n_data"] = 0.0
    table.loc[1, "web"], table.loc[1, "code"] = 0.0, table.loc[1, "web"] + table.loc[1, "code"]
    notes = sl.laws.mixture(table, shares=[*WEIGHTS], y="loss").notes
    assert [note.details["runs"] for note in notes if note.code == "runs_not_counted"] == [1]


def test_what_a_run_would_be_without_it_is_that_of_a_refit():
    """The closed form of leaving one out, against leaving it out, at the same lengths."""
    table = runs(15)
    shares, y = table[[*WEIGHTS]].to_numpy(), np.log(table.loss.to_numpy())
    full = process.fit("root", shares, np.zeros((15, 0)), y)
    kept = np.arange(15) != 4
    kernel = process.kernel_of(full.inputs, full.inputs, full.inverse_lengths, full.amplitudes, 0)
    noisy = kernel + full.noise * np.eye(15)
    weights = np.linalg.solve(noisy[np.ix_(kept, kept)], ((y - full.mean) / full.spread)[kept])
    assert full.left_out[4] == pytest.approx(full.mean + full.spread * kernel[4, kept] @ weights, abs=1e-9)


def test_wrong_shares_are_named():
    table = runs()
    with pytest.raises(BadInput, match="sum to 2:"):
        sl.laws.mixture(table.assign(web=table.web + 1), shares=[*WEIGHTS], y="loss")
    with pytest.raises(BadInput, match="negative"):
        sl.laws.mixture(table.assign(web=-table.web), shares=[*WEIGHTS], y="loss")
    with pytest.raises(BadInput, match="wbe"):
        sl.laws.mixture(table, shares=["wbe", "code"], y="loss")
    with pytest.raises(NotDetermined, check=because("few_mixtures", runs=5, needed=7)):
        sl.laws.mixture(table.iloc[:5], shares=[*WEIGHTS], y="loss")


def test_a_mixture_to_compare_with_is_whole_and_of_the_runs_domains(fitted):
    with pytest.raises(BadInput, match="wbe"):
        fitted.best(like={"wbe": 1.0})
    with pytest.raises(BadInput, match="web, code, books, chat"):
        fitted.predict(pd.DataFrame({"web": [0.5]}))


@pytest.mark.slow
def test_the_command_proposes_what_the_function_does(tmp_path, fitted):
    runs().to_csv(tmp_path / "runs.csv", index=False)
    words = ["plan", "mixture", str(tmp_path / "runs.csv"), "--shares", "web,code,books,ch*", "--y", "loss"]
    more = ["--bounds", "web=0:0.4", "--repeat", "books=1e10", "--n-data", "1e11", "--n-params", "1e9"]
    done = CliRunner().invoke(
        app, [*words, *more, "--level", "0.9", "--figure", str(tmp_path / "m.png"), "--json"]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    best = sl.laws.mixture(runs(), shares=[*WEIGHTS], y="loss", level=0.9).best(
        constraints={"web": (0, 0.4)}, repeat={"books": 1e10}, like={"n_data": 1e11}
    )
    assert found["shares"] == pytest.approx(dict(best.shares), abs=1e-6)
    assert found["loss"]["low"] == pytest.approx(best.loss.low, rel=1e-6)
    assert fitted.best().plot().get_xlabel() == "share"
    assert fitted.plot().get_ylabel() == "measured loss"
    refused = CliRunner().invoke(app, [*words, "--bounds", "web=0.999:1"])
    assert isinstance(refused.exception, NotDetermined)


def test_tokens_of_domains_are_shares_and_one_missing_share_is_the_rest():
    runs = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    table = pd.DataFrame(runs, columns=["web", "code", "d"])
    loss = np.exp(1.0 - 0.3 * np.sqrt(runs) @ [1.0, 0.4, 0.6])
    plain = sl.laws.mixture(table.assign(loss=loss), shares=["web", "code", "d"])
    tokens = sl.laws.mixture((table * 130.0).assign(loss=loss), shares=["web", "code", "d"])
    np.testing.assert_allclose(tokens.runs, plain.runs, rtol=1e-9)
    gaps = table.mask(np.eye(20, 3).astype(bool)).assign(loss=loss)
    np.testing.assert_allclose(sl.laws.mixture(gaps, shares=["web", "code", "d"]).runs, plain.runs, atol=1e-9)


@pytest.mark.parametrize("shares", [[], ["web"], ["web", "web"]])
def test_a_mixture_has_two_domains_or_more(shares):
    with pytest.raises(BadInput, match="two domains or more"):
        sl.laws.mixture(runs(), shares=shares, y="loss")
    two = runs().assign(rest=lambda t: 1 - t.web)
    found = sl.laws.mixture(two[["web", "rest", "loss"]], shares=["web", "rest"], y="loss").best()
    assert sum(found.shares.values()) == pytest.approx(1)
