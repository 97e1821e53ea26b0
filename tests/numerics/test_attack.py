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
