"""Plans of runs in words, of numbers put in by hand."""

from dataclasses import replace

import numpy as np

from scalinglab.laws.planning.next_runs import NextRuns

PLAN = NextRuns(
    ("n_params", "n_data"), np.array([[1e8, 2e9], [3e8, 5e9]]), np.array([4, 2]), np.array([1, 3]),
    np.array([1.2e18, 9e18]), np.array([[1e10, 2e11]]), np.array([2.5]), 0.02, np.array([0.018, 0.015]), 2e19,
    (20.0, 8.0),
)  # fmt: skip
NONE = replace(
    PLAN, runs=np.zeros((0, 2)), index=np.zeros(0), seeds=np.zeros(0), cost=np.zeros(0), after=np.zeros(0)
)


def test_next_runs_are_listed_in_order_with_what_they_cost_and_narrow():
    first, head, *runs, spent, verdict = PLAN.summary().splitlines()
    assert first == "prediction at n_params = 1e+10, n_data = 2e+11: 2.5 ± 2 % (95 %)"
    assert head.split() == ["n_params", "n_data", "seeds", "cost", "then", "±"]
    assert runs[0].split() == ["1e+08", "2e+09", "1", "1.2e+18", "1.8", "%"]
    assert runs[1].split() == ["3e+08", "5e+09", "3", "9e+18", "1.5", "%"]
    assert spent == "costs 1.02e+19 of 2e+19 FLOPs; holds if the trend continues"
    assert verdict == "worth it: 1.02e19 FLOPs in all would narrow the prediction from ± 2 % to ± 1.5 %"
    assert replace(PLAN, before=2.3e4).summary().splitlines()[0].endswith("± 2,300,000 % (95 %)")
    assert NONE.summary().splitlines()[1] == str(NONE.verdict)


def test_several_targets_are_counted():
    several = replace(PLAN, target=np.ones((3, 2)), prediction=np.ones(3), quantity="1 - y")
    first = several.summary().splitlines()[0]
    assert first == "prediction of 1 - y at 3 places: ± 2 % (95 %, root mean square)"


def test_a_summary_ends_with_the_verdict():
    far = replace(PLAN, before=5.2, after=np.array([4.5, 3.9]), quantity="1 - y")
    assert far.summary({"n_data": "tokens"}).splitlines()[-1] == (
        "not worth it: even the best, for 1.02e19 FLOPs, would leave the prediction of 1 - y at ± 100 % "
        "or more: first train sizes over a wider range (now a factor of 8 in tokens)"
    )
