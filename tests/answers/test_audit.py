"""What an audit finds in tables with one fault each, and what it does not find in a clean one."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput


def isoflops(seed: int = 0, noise: float = 0.001) -> pd.DataFrame:
    """Five computes of nine sizes around N* ∝ C^0.5."""
    random = np.random.default_rng(seed)
    rows = []
    for compute in np.geomspace(1e18, 1e20, 5):
        best = 1e8 * (compute / 1e18) ** 0.5
        for size in best * np.geomspace(0.25, 4, 9):
            loss = 2 + (compute / 1e18) ** -0.1 * (1 + 0.05 * np.log(size / best) ** 2)
            rows.append((compute, size, compute / 6 / size, loss * np.exp(noise * random.standard_normal())))
    return pd.DataFrame(rows, columns=["budget", "params", "tokens", "loss"])


def kinds(table, **columns):
    return {doubt.kind: doubt for doubt in sl.audit(table, **columns).doubts}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_clean_study_has_no_doubts(seed):
    assert sl.audit(isoflops(seed)).doubts == ()


@pytest.mark.slow
def test_rows_that_are_there_twice_are_found():
    table = isoflops()
    found = kinds(pd.concat([table, table.iloc[[3, 7]]], ignore_index=True))
    assert found["duplicates"].rows == (45, 46)
    exports = pd.concat([table.assign(source_file="a.csv"), table.iloc[[3]].assign(source_file="b.csv")])
    assert kinds(exports)["duplicates"].rows == (45,)
    other = table.iloc[[3]].assign(optimizer="lion", loss=lambda t: t.loss * (1 + 1e-8))
    settings = pd.concat([table.assign(optimizer="adam"), other])
    assert "duplicates" not in kinds(settings)


def test_rows_that_are_there_twice_are_found_though_their_data_were_counted_otherwise():
    """At one compute and size a loss of the same five digits is the same run, if the data are 3 % more."""
    table = isoflops()
    found = kinds(
        pd.concat([table, table.iloc[[3]].assign(tokens=lambda t: 1.03 * t.tokens)], ignore_index=True)
    )
    assert found["duplicates"].rows == (45,)


@pytest.mark.parametrize("computes", [pytest.param(2, marks=pytest.mark.slow), 5])
def test_a_curve_of_few_sizes_is_found(computes):
    table = isoflops().iloc[: 9 * computes]
    few = table.drop(index=[0, 1, 2, 7, 8]).reset_index(drop=True)
    found = kinds(few)
    assert {*found} == {"few_points"}
    assert found["few_points"].rows == (0, 1, 2, 3)
    if computes == 2:
        rounded = few.assign(tokens=few.tokens.round(-7)).drop(columns="budget").drop(index=3)
        assert {kind: doubt.rows for kind, doubt in kinds(rounded).items()} == {"few_points": (0, 1, 2)}


def test_a_curve_whose_minimum_is_at_an_end_is_found():
    """The largest compute with sizes below its best one only: the minima of the others do not change."""
    table = isoflops()
    low = table[(table.budget < 5e19) | (table.params < 0.6e9)].reset_index(drop=True)
    extra = table[table.budget > 5e19].iloc[:1]
    more = [
        extra.assign(params=extra.params * f, loss=extra.loss * (1 + 0.03 * (1 / f - 1))) for f in (0.5, 0.7)
    ]
    low = pd.concat([low, *more], ignore_index=True)
    found = kinds(low)["off_centre"]
    assert {*found.rows} == {*np.flatnonzero(low.budget > 5e19)}
    assert found.what.details["side"] == "large"
    assert found.after == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_a_curve_that_rises_less_than_its_scatter_on_one_side_shows_no_minimum():
    """Of the largest compute one size below the best is left, 0.1 % above it, at a scatter of 0.3 %."""
    table = isoflops(noise=0.003)
    assert "off_centre" not in kinds(table)
    cut = table[(table.budget < 5e19) | (table.params > 0.6e9)].reset_index(drop=True)
    found = kinds(cut)["off_centre"]
    assert {*found.rows} == {*np.flatnonzero(cut.budget > 5e19)}
    assert found.what.details["side"] == "small"


def test_a_run_off_its_parabola_is_found_and_the_exponent_without_it_is_given():
    table = isoflops()
    table.loc[13, "loss"] *= 1.05
    found = kinds(table)
    assert {*found} == {"outlying"}
    assert found["outlying"].rows == (13,)
    assert found["outlying"].after == pytest.approx(0.5, abs=0.02)


@pytest.mark.slow
def test_runs_far_from_the_minimum_that_bend_their_parabola_are_found():
    """Chinchilla's form, the four largest sizes of one compute too high, more and more."""
    random = np.random.default_rng(0)
    compute, place = (v.ravel() for v in np.meshgrid(np.geomspace(1e18, 1e21, 6), np.geomspace(0.2, 5, 14)))
    size = 1e8 * (compute / 1e18) ** 0.5 * place
    loss = 1.8 + 480 * size**-0.35 + 2100 * (compute / 6 / size) ** -0.37
    loss *= np.exp(0.002 * random.standard_normal(len(loss)))
    clean = pd.DataFrame({"budget": compute, "params": size, "tokens": compute / 6 / size, "loss": loss})
    assert "outlying" not in kinds(clean)
    odd = clean.sort_values(["budget", "params"]).index[10:14]
    clean.loc[odd, "loss"] *= [1.1, 1.2, 1.3, 1.4]
    assert kinds(clean)["outlying"].rows == tuple(sorted(odd))


@pytest.mark.slow
def test_a_compute_that_counts_otherwise_is_found_and_rows_only_where_one_run_differs():
    table = isoflops().assign(budget=lambda t: t.budget / 1.35)
    assert kinds(table)["other_flops"].rows == ()
    assert kinds(table)["other_flops"].what.details["high"] == pytest.approx(1.35)


def test_counts_of_parameters_that_change_the_exponent_are_found_unasked():
    """With embeddings that grow as the cube root of the others the best size grows more slowly."""
    table = isoflops().rename(columns={"params": "params_transformer"})
    table["params_total"] = table.params_transformer + 5e8 * (table.params_transformer / 1e8) ** (1 / 3)
    found = kinds(table)["counted_parameters"]
    assert found.before == pytest.approx(0.5, abs=0.02)
    assert found.after < 0.45
    assert len(found.what.details["exponents"]) == 2


NANOCHAT = (1e18, 2.15e18, 4.64e18, 1e19)  # FLOPs


def nanochat() -> pd.DataFrame:
    """The columns of nanochat's sweep, whose best size is N* ∝ C^0.54 with transformer and head counted."""
    random, rows = np.random.default_rng(0), []
    for compute in NANOCHAT:
        for depth in range(6, 29, 2):
            width = 64 * depth
            head, body = 32768 * width, 12 * depth * width**2
            best = 1e8 * (compute / 1e18) ** 0.54
            bpb = 0.7 + 0.25 * (compute / 1e18) ** -0.06 * (1 + 0.06 * np.log((body + head) / best) ** 2)
            parts = {"wte": head, "value_embeds": head * (depth // 2), "lm_head": head, "scalars": 2 * depth}
            parts |= {"transformer": body, "total": body + sum(parts.values())}
            rows.append(
                {"flops_budget": compute, "depth": depth, **{f"params_{k}": v for k, v in parts.items()}}
                | {"tokens_trained": compute / 6 / (body + head)}
                | {"val_bpb": bpb * np.exp(3e-4 * random.standard_normal())}
            )
    return pd.DataFrame(rows)


@pytest.mark.slow
def test_nanochats_three_counts_of_parameters_are_told_and_its_parts_are_no_counts():
    depth = np.linspace(4, 30, 2000)
    body, head = 12 * 64**2 * depth**3, 32768 * 64 * depth
    best = np.interp([1e8 * (c / 1e18) ** 0.54 for c in NANOCHAT], body + head, depth)
    slopes = {
        "params_transformer": np.polyfit(np.log(NANOCHAT), np.log(np.interp(best, depth, body)), 1)[0],
        "params_total": np.polyfit(
            np.log(NANOCHAT), np.log(np.interp(best, depth, body + (2 + depth / 2) * head)), 1
        )[0],
        "params_transformer + params_lm_head": 0.54,
    }
    found = kinds(nanochat())["counted_parameters"]
    told = dict(one.rsplit(": ", 1) for one in found.what.details["exponents"])
    assert {name: float(value) for name, value in told.items()} == pytest.approx(slopes, abs=0.04)
    without = kinds(nanochat().drop(columns="params_total"))["counted_parameters"]
    assert f"params_transformer + all parts: {told['params_total']}" in without.what.details["exponents"]


@pytest.mark.slow
def test_a_part_that_some_runs_do_not_have_is_still_a_part():
    table = nanochat()
    table.loc[table.depth == 6, "params_lm_head"] = 0.0  # tied
    counted = kinds(table)["counted_parameters"].what.details["exponents"]
    assert "params_transformer + params_lm_head" in {one.rsplit(": ", 1)[0] for one in counted}


def ladder() -> pd.DataFrame:
    """One run of each depth, whose loss falls as the power -0.08 of the parameters without embeddings."""
    depth = np.arange(10, 21)
    width, body = 64 * depth, 12 * 64**2 * depth**3
    return pd.DataFrame({
        "depth": depth, "d_model": width, "vocab_size": 65536, "n_params": body + 2 * 65536 * width,
        "tokens": 20 * body, "val_loss": 3 * (body / 1e8) ** -0.08,
    })  # fmt: skip


@pytest.mark.parametrize(
    "given", ["vocab_size", "embedding_params", pytest.param("transformer_params", marks=pytest.mark.slow)]
)
def test_a_ladder_of_depths_whose_share_of_embeddings_falls_has_two_exponents(given):
    table = ladder().drop(columns="vocab_size")
    embeddings = 65536 * table.d_model
    without = table.n_params - (2 if given == "transformer_params" else 1) * embeddings
    table[given] = {"vocab_size": 65536, "transformer_params": without, "embedding_params": embeddings}[given]
    found = kinds(table)["counted_parameters"]
    logs = np.log(table.val_loss)
    slopes = sorted(np.polyfit(np.log(count), logs, 1)[0] for count in (table.n_params, without))
    assert found.answer == "loss"
    assert (found.after, found.before) == pytest.approx(tuple(slopes), abs=1e-4)
    assert slopes[1] - slopes[0] > 0.01
    even = table.assign(n_params=2 * without, val_loss=3 * (without / 1e8) ** -0.08)
    assert "counted_parameters" not in kinds(
        even.drop(columns=["vocab_size", "embedding_params"], errors="ignore")
    )


def test_mixed_schedules_are_found_under_the_names_that_people_write():
    columns = {"lr_schedule": ("cosine", "constant"), "decay": ("wsd", "none"), "warmdown_ratio": (0.2, 0.0)}
    table, rows = isoflops(), {}
    for k, (column, (usual, other)) in enumerate(columns.items()):
        rows[column] = (3 + k, 8 + k)
        table[column] = [other if row in rows[column] else usual for row in range(len(table))]
    doubts = sl.audit(table.assign(weight_decay=0.1, cooldown_steps=table.tokens // 1e7, diverged=0)).doubts
    assert {doubt.kind for doubt in doubts} == {"mixed_schedules"}
    assert {doubt.what.details["column"]: doubt.rows for doubt in doubts} == rows


def test_unfinished_runs_are_found_under_the_names_that_people_write():
    columns = {
        "status": ("finished", "crashed"), "wandb_state": ("finished", "running"), "finished": (True, False),
        "progress": (100.0, 70.0), "done": (1.0, 0.7),
    }  # fmt: skip
    table = isoflops()
    for k, (column, (usual, other)) in enumerate(columns.items()):
        table[column] = [other if row == 3 + k else usual for row in range(len(table))]
    table["target_tokens"] = table.tokens * np.where(table.index == 9, 1.5, 1.0)
    assert kinds(table)["unfinished"].rows == (3, 4, 5, 6, 7, 9)


@pytest.mark.slow
def test_isoflops_are_known_without_a_column_of_compute_and_a_grid_with_one_is_none():
    table = isoflops().drop(columns="budget")
    table.loc[13, "loss"] *= 1.05
    assert kinds(table)["outlying"].rows == (13,)
    low = isoflops().drop(columns="budget")[lambda t: (t.index < 36) | (t.index > 40)].reset_index(drop=True)
    assert {*kinds(low)} == {"few_points", "off_centre"}  # what is left is larger than the best size
    n, d = (v.ravel() for v in np.meshgrid(1e7 * 2.0 ** np.arange(6), 1e9 * 2.0 ** np.arange(5)))
    grid = pd.DataFrame({"n_params": n, "n_data": d, "compute": 6 * n * d})
    grid["loss"] = 1.7 + 400 * n**-0.34 + 410 * d**-0.28
    assert sl.audit(grid).doubts == ()
    grid.loc[11, "loss"] *= 1.05
    assert kinds(grid)["outlying"].rows == (11,)


@pytest.mark.slow
def test_runs_at_computes_of_their_own_are_no_curves_of_few_points():
    extra = pd.DataFrame({"params": np.geomspace(1e8, 6e8, 4), "budget": np.geomspace(1.5e18, 6e19, 4)})
    extra["tokens"] = extra.budget / 6 / extra.params
    best = 1e8 * (extra.budget / 1e18) ** 0.5
    extra["loss"] = 2 + (extra.budget / 1e18) ** -0.1 * (1 + 0.05 * np.log(extra.params / best) ** 2)
    assert "few_points" not in kinds(pd.concat([isoflops(), extra], ignore_index=True))


@pytest.mark.slow
def test_only_what_the_columns_allow_is_said_to_be_checked():
    found = sl.audit(isoflops())
    assert {"schedules", "unfinished runs", "edge of a grid", "contaminated scores"} <= {*found.unchecked}
    assert {"duplicates", "off centre", "compute of 6ND"} <= {*found.checked}
    assert not {*found.checked} & {*found.unchecked}
    more = isoflops().drop(columns="budget").assign(schedule="cosine", mmlu=30.0)
    assert {"schedules", "contaminated scores"} <= {*sl.audit(more).checked}
    assert "compute of 6ND" in sl.audit(more).unchecked


@pytest.mark.slow
def test_a_best_rate_at_the_edge_of_its_grid_is_found():
    rate, size = (v.ravel() for v in np.meshgrid([1e-4, 3e-4, 1e-3, 3e-3], [1e7, 1e8, 1e9]))
    best = np.where(size < 5e8, 5e-4, 1e-5)
    loss = 3 * (size / 1e7) ** -0.05 * (1 + 0.02 * np.log(rate / best) ** 2)
    table = pd.DataFrame({"n_params": size, "n_data": 20 * size, "learning_rate": rate, "loss": loss})
    assert kinds(table)["edge_of_grid"].rows == (8,)
    assert kinds(table.rename(columns={"learning_rate": "lr"}))["edge_of_grid"].rows == (8,)
    more = pd.concat([table, table.assign(n_data=80 * table.n_params, loss=0.9 * table.loss)])
    found = kinds(more)["edge_of_grid"]
    assert found.rows == (8, 20)
    assert found.answer == "loss"
    lowest = [loss[size == one].min() for one in (1e7, 1e8, 1e9)]
    assert found.before == pytest.approx(np.polyfit(np.log([1e7, 1e8, 1e9]), np.log(lowest), 1)[0])


@pytest.mark.parametrize("size", ["width", "n_data"])
def test_searches_at_widths_or_amounts_of_data_are_audited_too(size):
    rate, place = (v.ravel() for v in np.meshgrid([1e-4, 3e-4, 1e-3, 3e-3], [64.0, 256.0, 1024.0]))
    best = np.where(place < 500, 5e-4, 1e-5)
    loss = 3 * place**-0.05 * (1 + 0.02 * np.log(rate / best) ** 2)
    table = pd.DataFrame({size: place, "learning_rate": rate, "test_error": loss / 10, "seed": 0})
    lost = table.iloc[[3, 7]].assign(test_error=np.nan)
    table = pd.concat([table, lost, lost.assign(seed=1)], ignore_index=True)
    assert {kind: doubt.rows for kind, doubt in kinds(table).items()} == {"edge_of_grid": (8,)}


def test_a_search_of_any_setting_is_seen_by_its_best_values_between_others():
    """Of one size the best lies at the end; amounts of data, whose best is always the largest, are none."""
    size, log_rate = (v.ravel() for v in np.meshgrid([1e7, 1e8, 1e9, 1e10], np.arange(-12, -6)))
    best = np.where(size < 5e9, -9.3, -14.0)
    loss = 3 * (size / 1e7) ** -0.05 * (1 + 0.01 * (log_rate - best) ** 2)
    table = pd.DataFrame({"n_params": size, "log2_rate": log_rate, "loss": loss})
    assert {kind: doubt.rows for kind, doubt in kinds(table).items()} == {"edge_of_grid": (3,)}
    assert "edge_of_grid" not in kinds(table.assign(loss=size**-0.1 + 0.1 * 2.0**-log_rate))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("done", "planned"),
    [("iteration", "train_iters"), pytest.param("epoch", "num_train_epochs", marks=pytest.mark.nightly)],
)
def test_runs_that_end_before_most_others_do_are_unfinished_whatever_the_columns_are_called(done, planned):
    table = isoflops().assign(**{planned: 300, "warmup_iters": 20})
    table[done] = np.where(table.index.isin([5, 30]), 200, 300)
    assert kinds(table)["unfinished"].rows == (5, 30)
    words = np.where(table.index == 4, "out of memory", "done").astype(object)
    assert kinds(isoflops().assign(what_became_of_it=words))["unfinished"].rows == (4,)


@pytest.mark.slow
def test_copies_are_found_in_another_study_and_under_another_name():
    table = pd.concat([isoflops(), isoflops(1)], ignore_index=True)
    table["reference"] = ["one"] * 45 + ["two"] * 45
    again = table.iloc[[3, 50]].assign(reference=["two", "one"])
    table = pd.concat([table, again], ignore_index=True)
    assert {*sl.audit(table).rows} == {90, 91}
    assert sl.audit(table.rename(columns={"reference": "experiment"})).doubts == ()  # declared studies


@pytest.mark.slow
def test_counts_of_flops_that_follow_the_size_smoothly_are_not_those_of_single_rows():
    """Attention adds a share that falls as networks grow; one run counts its forward passes alone."""
    depth = np.arange(4.0, 40.0, 3)
    n = 12 * depth * (96 * depth) ** 2
    loss = (1.6 + 150 * n**-0.31) * np.exp(1e-3 * np.random.default_rng(0).standard_normal(len(n)))
    flops = 120 * n**2 * (1 + 4 / depth)
    table = pd.DataFrame({"n_params": n, "tokens": 20 * n, "loss": loss, "total_flops": flops})
    assert kinds(table)["other_flops"].rows == ()
    table.loc[6, "total_flops"] /= 3
    assert kinds(table)["other_flops"].rows == (6,)


@pytest.mark.slow
def test_a_table_of_experts_is_audited_by_its_active_parameters():
    n, d = (v.ravel() for v in np.meshgrid(5e7 * 2.0 ** np.arange(5), 2e9 * 3.0 ** np.arange(4)))
    loss = 1.6 + 150 * n**-0.31 + 250 * d**-0.28
    table = pd.DataFrame({"active_params": n, "total_params": 8 * n, "tokens": d, "loss": loss})
    assert sl.audit(table.assign(compute=6 * n * d)).doubts == ()
    assert "other_flops" in kinds(table.assign(compute=48 * n * d))


def test_one_undertuned_size_is_found():
    size = np.geomspace(1e7, 1e9, 9)
    random = np.random.default_rng(0)
    loss = 4 * (size / 1e7) ** -0.08 * np.exp(0.002 * random.standard_normal(9))
    loss[4] *= 1.05
    for data in ({}, {"n_data": 20 * size}):
        found = kinds(pd.DataFrame({"n_params": size, **data, "loss": loss}))["undertuned"]
        assert found.rows == (4,)
        assert found.after == pytest.approx(-0.08, abs=0.002)


@pytest.mark.parametrize("by_compute", [pytest.param(False, marks=pytest.mark.slow), True])
def test_one_undertuned_size_is_found_at_every_amount_of_data(by_compute):
    """Nine sizes at six amounts of data, or at six computes: the same size is 3 % too high at each."""
    n, other = (v.ravel() for v in np.meshgrid(np.geomspace(3e7, 3e9, 9), np.geomspace(1, 30, 6)))
    d = 2e18 * other / 6 / n if by_compute else 4e9 * other
    random = np.random.default_rng(0)
    loss = (1.7 + 400 * n**-0.34 + 410 * d**-0.28) * np.exp(0.001 * random.standard_normal(len(n)))
    loss = np.where(n == np.unique(n)[3], 1.03, 1.0) * loss
    table = pd.DataFrame({"n_params": n, "n_data": d, "loss": loss})
    table = table.assign(budget=2e18 * other) if by_compute else table
    found = kinds(table)["undertuned"]
    assert {*found.rows} == {*np.flatnonzero(n == np.unique(n)[3])}


@pytest.mark.slow
def test_a_score_better_than_its_loss_allows_is_found():
    random = np.random.default_rng(1)
    loss = np.linspace(3.5, 2.0, 24)
    score = 0.9 / (1 + np.exp(4 * (loss - 2.5))) + 0.005 * random.standard_normal(24)
    score[10] += 0.15
    table = pd.DataFrame(
        {"n_params": np.geomspace(1e7, 1e10, 24), "loss": loss, "accuracy": score.clip(0, 1)}
    )
    found = kinds(table)["contaminated"]
    assert found.rows == (10,)
    assert found.answer == "score"
    percent = table.assign(mmlu=100 * table.accuracy).drop(columns="accuracy")
    assert kinds(percent)["contaminated"].rows == (10,)
    assert found.after == pytest.approx(0.9 / (1 + np.exp(4 * (2.0 - 2.5))), abs=0.03)
    weak = table.assign(accuracy=table.accuracy + np.where(np.arange(24) == 10, -0.15, 0.0))
    weak["accuracy"] += np.where(np.arange(24) == 2, 0.1, 0.0)  # the curve bends to it where it is flat
    assert kinds(weak)["contaminated"].rows == (2,)
    other = table.assign(task="b", accuracy=0.5 * (table.accuracy - 0.15 * (np.arange(24) == 10)))
    assert kinds(pd.concat([table.assign(task="a"), other]))["contaminated"].rows == (10,)


@pytest.mark.slow
def test_the_command_says_the_same(tmp_path):
    table = isoflops()
    table.loc[13, "loss"] *= 1.05
    table.rename(columns={"loss": "our_loss"}).assign(set="a").to_csv(tmp_path / "t.csv", index=False)
    words = ["audit", str(tmp_path / "t.csv"), "--column", "loss=our_loss", "--where", "set=a"]
    told = CliRunner().invoke(app, [*words, "--json"])
    assert json.loads(told.output)["doubts"][0]["rows"] == [13]
    shown = CliRunner().invoke(app, words).output
    assert "1 doubt on 1 of 45 rows" in shown


def test_an_empty_table_is_refused():
    with pytest.raises(BadInput, match="no rows"):
        sl.audit(isoflops().iloc[:0])


def a_grid(seed=0, noise=0.003, seeds=1):
    """Runs at six sizes and six amounts of data."""
    n, d = (v.T.ravel() for v in np.meshgrid(4e7 * 2.5 ** np.arange(6), 1e9 * 2.4 ** np.arange(6)))
    n, d, k = np.repeat(n, seeds), np.repeat(d, seeds), np.tile(np.arange(seeds), len(n))
    random = np.random.default_rng(seed).standard_normal(len(n))
    loss = (1.7 + 400 * n**-0.34 + 410 * d**-0.28) * np.exp(noise * random)
    made = pd.DataFrame({"params": n, "tokens": d, "loss": loss.round(4)})
    return made.assign(seed=k) if seeds > 1 else made


def kinds_of(table):
    return {doubt.kind: doubt.rows for doubt in sl.audit(table).doubts}


@pytest.mark.slow
def test_where_a_few_runs_ran_is_no_doubt_and_their_losses_are():
    kind_of = {"cluster": ("east", "west", [8, 16, 21, 30]), "gpus": (8, 24, [3, 14, 27])}
    table = a_grid()
    for column, (usual, other, wrong) in kind_of.items():
        table[column] = [other if row in wrong else usual for row in range(36)]
    assert "of_another_kind" not in kinds_of(table)
    for factor, (*_, wrong) in zip((0.93, 1.07), kind_of.values(), strict=True):
        off = table.assign(loss=table.loss * np.where(table.index.isin(wrong), factor, 1.0))
        assert kinds_of(off)["outlying"] == tuple(wrong)


def test_the_largest_runs_may_differ_in_a_setting_and_lie_off_a_law_that_bends():
    table = a_grid()
    table["batch_size"] = np.where(table.params == table.params.max(), 1024, 512)
    table.loc[table.batch_size == 1024, "loss"] *= 1.02
    assert "of_another_kind" not in kinds_of(table)


@pytest.mark.slow
def test_rows_of_another_kind_that_are_many_are_a_study_of_their_own():
    table = a_grid()
    odd = np.arange(36) % 2 == 1
    table["eval_set"] = np.where(odd, "pile", "c4")
    table.loc[odd, "loss"] *= 0.93
    assert kinds_of(table) == {}


OTHERWISE = {
    "eval_set": ("v1", "v2"), "tokenizer": ("gpt2", "llama3"), "config.data.seq_len": (2048, 4096),
    "loss_kind": ("final", "ema"), "checkpoint": ("last", "best"), "precision": ("bf16", "fp32"),
}  # fmt: skip


@pytest.mark.parametrize(
    "wrong", [lambda k: (7 + k, 20 + k), lambda k: range(24 + k % 2 * 6, 36)], ids=["few", "end"]
)
def test_rows_that_were_measured_or_trained_otherwise_are_found_whatever_their_losses(wrong):
    """A few of them, or all sizes from some on; losses do not say, since a surface follows what grows."""
    table, rows = a_grid(), {}
    for k, (column, (usual, other)) in enumerate(OTHERWISE.items()):
        rows[column] = tuple(wrong(k))
        table[column] = [other if row in rows[column] else usual for row in range(36)]
    doubts = sl.audit(table).doubts
    assert {doubt.kind for doubt in doubts} == {"of_another_kind"}
    assert {doubt.what.details["column"]: doubt.rows for doubt in doubts} == rows


def test_names_of_who_ran_are_no_studies_and_data_of_their_own_are():
    table = a_grid().assign(who=np.random.default_rng(0).choice(["ab", "cd"], 36))
    table.loc[[8, 21], "loss"] *= 1.05
    assert kinds_of(table) == {"outlying": (8, 21)}
    other = table.assign(who=np.where(np.arange(36) % 2, "web", "code"))
    other.loc[1::2, "loss"] *= 0.6
    assert kinds_of(other).get("outlying", (8, 21)) == (8, 21)


def a_ladder(runs=12, noise=0.002):
    """Runs at twenty tokens a parameter, with their steps and batches."""
    n = np.geomspace(3e7, 5e9, runs).round(-5)
    batch = np.where(n < 3e8, 2**19, 2**20)
    loss = (1.7 + 400 * n**-0.34 + 410 * (20 * n) ** -0.28) * np.exp(
        noise * np.random.default_rng(1).standard_normal(runs)
    )
    steps = (20 * n / batch).round()
    return pd.DataFrame(
        {"params": n, "tokens": 20 * n, "val_loss": loss, "steps": steps, "batch_tokens": batch}
    )


@pytest.mark.parametrize(
    "faults",
    [
        {},
        {
            "warm_up": ("warmup_steps", (0, 1), lambda t: np.where(t.index < 2, 0.4, 0.05) * t.steps),
            "repeated": ("epochs", (10, 11), lambda t: np.where(t.index > 9, 16, 1)),
            "selected": ("best_step", (3, 7), lambda t: t.steps * np.where(t.index.isin([3, 7]), 0.7, 0.99)),
            "training_gap": ("train_loss", (5,), lambda t: t.val_loss * np.where(t.index == 5, 1.04, 1)),
            "impossible": ("mfu", (6,), lambda t: np.where(t.index == 6, 1.3, 0.4)),
        },
        {
            "repeated": ("unique_tokens", (10, 11), lambda t: t.tokens / np.where(t.index > 9, 16, 1)),
            "inconsistent": ("steps", (4,), lambda t: t.steps * np.where(t.index == 4, 1.6, 1)),
            "impossible": ("gpu_utilization", (5,), lambda t: np.where(t.index == 5, 130, 40)),
        },
        {
            "inconsistent": ("tokens", (4,), lambda t: t.tokens * np.where(t.index == 4, 1.3, 1)),
            "impossible": ("val_loss", (3, 7), lambda t: t.val_loss * ~t.index.isin([3, 7])),
            "of_another_kind": ("notes", (8,), lambda t: np.where(t.index == 8, "wrong validation data", "")),
        },
        {"other_units": ("params", (10, 11), lambda t: t.params / np.where(t.index > 9, 1e6, 1))},
    ],
)
def test_what_a_few_rows_have_unlike_all_others_is_found(faults):
    table = a_ladder()
    made = {column: value(table) for column, _, value in faults.values()}
    found = kinds_of(table.assign(**made))
    assert faults or not found
    assert {kind: found[kind] for kind in faults} == {kind: rows for kind, (_, rows, _) in faults.items()}


def test_sizes_without_a_search_are_found_where_the_others_have_one():
    size, rate = (v.ravel() for v in np.meshgrid([1e8, 3e8, 1e9, 3e9], 1e-3 * 2.0 ** np.arange(-3, 4)))
    loss = 3 * size**-0.02 * (1 + 0.01 * np.log(rate / 1e-3) ** 2)
    table = pd.DataFrame({"n_params": size, "learning_rate": rate, "loss": loss})
    assert kinds_of(table) == {}
    few = table[(size < 2e9) | (rate == 1e-3)].reset_index(drop=True)
    assert kinds_of(few) == {"untuned": tuple(few.index[few.n_params > 2e9])}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("many", "factor"), [("shares", 100.0), pytest.param("percent", 0.01, marks=pytest.mark.nightly)]
)
def test_scores_in_percent_among_shares_are_in_another_unit(many, factor):
    n = np.geomspace(1e8, 1e10, 20)
    score = np.linspace(0.3, 0.8, 20) * (100 if many == "percent" else 1)
    table = pd.DataFrame({"params": n, "tokens": 20 * n, "loss": 3 * n**-0.02, "arc_acc": score})
    assert "other_units" not in kinds_of(table)
    table.loc[[12, 15], "arc_acc"] *= factor
    assert kinds_of(table)["other_units"] == (12, 15)


def test_runs_of_the_stable_phase_are_another_schedule_and_notes_say_that_a_run_was_stopped():
    notes = {
        7: "preempted at 61% of steps, not resumed", 9: "killed at step 9k of 15k",
        12: "preempted twice, resumed", 20: "moved to the new cluster",
    }  # fmt: skip
    table = a_grid().assign(phase=["stable" if row in (4, 13, 27) else "annealed" for row in range(36)])
    table["notes"] = [notes.get(row, "") for row in range(36)]
    assert kinds_of(table) == {"mixed_schedules": (4, 13, 27), "unfinished": (7, 9)}


@pytest.mark.slow
def test_seeds_that_differ_much_more_than_others_are_found():
    table = a_grid(seeds=2)
    assert kinds_of(table) == {}
    table.loc[21, "loss"] *= 0.97
    assert {20, 21} <= {*kinds_of(table)["unlike_seeds"]}


@pytest.mark.slow
def test_rows_typed_again_with_fewer_digits_are_copies():
    table = a_grid()
    again = table.iloc[[3, 15]].assign(loss=lambda t: t.loss.round(3))
    again = again.assign(params=again.params * 1.002, tokens=again.tokens.map("{:.3g}".format).astype(float))
    assert kinds_of(pd.concat([table, again], ignore_index=True))["duplicates"] == (36, 37)
    others = again.assign(params=again.params * 1.02)
    assert "duplicates" not in kinds_of(pd.concat([table, others], ignore_index=True))


@pytest.mark.slow
def test_some_rows_of_another_source_are_copies_and_the_whole_source_is_another_reading():
    ours, theirs = a_grid(0).assign(source="ours"), a_grid(1).assign(source="theirs")
    ours["loss"] *= 1.02  # no run has the loss of another by accident
    taken = theirs.iloc[[2, 5, 30]].assign(source="ours")
    assert kinds_of(pd.concat([theirs, ours, taken], ignore_index=True))["duplicates"] == (72, 73, 74)
    whole = pd.concat([theirs, theirs.assign(source="read again")], ignore_index=True)
    assert "duplicates" not in kinds_of(whole)


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_rows_without_their_embeddings_among_others_are_found(times):
    layers = np.arange(4, 28, 2)
    width, wrong = 64 * layers, [2, 5, 6]
    body = 12 * layers * width**2
    whole = body + times * 50304 * width
    loss = 1.7 + 400.0 * whole**-0.34 + 410 * (20.0 * whole) ** -0.28
    table = pd.DataFrame({"n_layer": layers, "d_model": width, "vocab_size": 50304, "params": whole,
                          "tokens": 20 * whole, "loss": loss.round(4)})  # fmt: skip
    assert "counted_parameters" not in {k for k, rows in kinds_of(table).items() if rows}
    table.loc[wrong, "params"] = body[wrong]
    assert kinds_of(table)["counted_parameters"] == tuple(wrong)


def test_a_classifier_that_stopped_at_fewer_epochs_than_all_others_is_unfinished():
    sizes = np.repeat([500, 1000, 2000, 4000, 8000, 16000], 3)
    table = pd.DataFrame({"samples": sizes, "seed": [0, 1, 2] * 6, "epoch": 120, "test_error": sizes**-0.4})
    table.loc[[5, 9], "epoch"] = 31
    assert kinds(table)["unfinished"].rows == (5, 9)


def test_steps_that_a_resumed_run_logs_again_are_named_and_the_later_rows_count():
    step = np.arange(1000, 11000, 1000)
    runs = [
        pd.DataFrame({"run_id": name, "n_params": n, "step": step, "loss": 2 + n / 1e9 + 100 / step})
        for name, n in (("a", 1e8), ("b", 3e8))
    ]
    again = runs[1].iloc[5:8].assign(loss=lambda t: t.loss + 0.001)
    resumed = pd.concat([runs[0], runs[1][:8], again, runs[1][8:]], ignore_index=True)
    assert kinds(resumed)["duplicates"].rows == (15, 16, 17)
    read = sl.read(resumed)
    assert len(read) == 20
    assert sorted(set(again["loss"]) & set(read["loss"])) == sorted(again["loss"])
    begun_again = pd.concat([runs[1], runs[1].assign(loss=9.0)], ignore_index=True)
    with pytest.raises(BadInput, match="two rows for the same run"):
        sl.read(begun_again)


@pytest.mark.slow
def test_names_of_sizes_and_of_ratios_are_no_kinds_of_runs():
    """A ladder of four models at four ratios is one study of each task, in which a score may be too good."""
    sizes, ratios, tasks = {"190M": 1.9e8, "760M": 7.6e8, "1.3B": 1.3e9, "3B": 3e9}, (1, 2, 5, 10), ("a", "b")
    rows = [(m, f"{k}xC", t, n, 20 * k * n) for t in tasks for m, n in sizes.items() for k in ratios]
    table = pd.DataFrame(rows, columns=["model", "mult", "task", "params", "tokens"])
    table["loss"] = 1.7 + 400 * table.params**-0.34 + 410 * table.tokens**-0.28
    table["accuracy"] = 0.25 + 0.7 / (1 + np.exp(5 * (table.loss - 2.3)))
    table.loc[21, "accuracy"] += 0.2
    assert kinds(table)["contaminated"].rows == (21,)
