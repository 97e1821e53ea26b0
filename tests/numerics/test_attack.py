"""Random and extreme inputs give numbers or a message; `python benchmarks/fuzz.py 100` tries many more."""

import pytest

from tests.numerics.attack import CASES, attack

SLOW = {"laws.fit": 3, "laws.extrapolate": 3, "dmft.solve": 6}  # inputs of the cases that take long


@pytest.mark.parametrize("case", CASES)
def test_no_input_ends_in_a_foreign_exception_or_a_missing_number(case):
    kinds = set()
    for seed in range(SLOW.get(case, 16)):
        kind, words = attack(case, seed)
        assert kind not in ("foreign", "nan"), f"python benchmarks/fuzz.py {case} {seed}: {words}"
        kinds.add(kind)
    assert "numbers" in kinds or case in SLOW  # the inputs reach what they are meant for


@pytest.mark.parametrize(
    ("case", "seed", "reason"),
    [
        ("dmft.final", 26, "n_params = 8.57873e-160 is too small"),
        ("dmft.final", 70, "n_params = 1.0158e-174 is too small"),
        ("dmft.final", 79, "n_data = 2.62156e-179 is too small"),
        ("dmft.solve", 24, "n_data = 0 is too small"),
        ("dmft.solve", 38, "n_data = 1e-308 is too small"),
        ("laws.extrapolate", 39, "to 1e+308, over more than 100 decades"),
        ("laws.extrapolate", 53, "y reaches from 1e-308 to 8.17971e-137"),
        ("laws.extrapolate", 68, "y reaches from 4.94066e-324"),
    ],
)
def test_inputs_that_once_ended_otherwise_are_refused_in_words(case, seed, reason):
    kind, words = attack(case, seed)
    assert kind == "refused"
    assert reason in words
