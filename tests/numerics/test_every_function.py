"""Every public function refuses what it cannot use in words of this package, by the name of the argument."""

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.support.validation import checked
from tests.numerics.every_function import attack, public_functions

FUNCTIONS = public_functions()
SPECTRUM = sl.Spectrum.power_law(1.0, 1.0, 50)


def test_every_public_function_checks_its_arguments():
    assert len(FUNCTIONS) > 130
    assert [name for name, function in FUNCTIONS.items() if not getattr(function, "checked", False)] == []


QUICK = [name for name in FUNCTIONS if name.startswith(("theory.perceptron", "theory.kernel"))]


@pytest.mark.parametrize("name", QUICK)
def test_no_argument_ends_in_a_foreign_error_or_a_missing_number(name):
    for seed in range(3):
        kind, words = attack(name, FUNCTIONS[name], seed)
        assert kind in ("numbers", "refused"), f"python benchmarks/fuzz.py {name} {seed}: {words}"


@pytest.mark.slow
@pytest.mark.parametrize("package", sorted({name.partition(".")[0] for name in FUNCTIONS}))
def test_no_argument_of_any_function_does(package):
    for name in (name for name in FUNCTIONS if name.partition(".")[0] == package):
        kind, words = attack(name, FUNCTIONS[name], 0)
        assert kind in ("numbers", "refused"), f"python benchmarks/fuzz.py {name} 0: {words}"


@pytest.mark.parametrize(
    ("act", "names"),
    [
        (lambda: sl.laws.extrapolate([1.0, 2.0, 3.0], [1.0, 2.0], at=10.0), ("x has 3", "y has 2")),
        (lambda: sl.theory.kernel.learning_curve(SPECTRUM, [1.0, 2.0], [0.1, 0.2, 0.3]), ("n_data", "ridge")),
        (lambda: sl.theory.kernel.learning_curve("text", 10.0), ("spectrum='text'", "a Spectrum")),
        (lambda: sl.theory.dmft.final(SPECTRUM, n_params="many"), ("n_params='many'", "a number")),
        (lambda: sl.theory.manifolds.sample("torus", 2, 1.5), ("n=1.5", "a whole number")),
        (lambda: sl.laws.bootstrap({}), ("law={}", "a Law")),
        (
            lambda: sl.laws.fit("power_law", [1, 2, 3], [1, 2, 3], starts="x"),
            ("starts='x'", "a whole number"),
        ),
    ],
)
def test_wrong_types_and_shapes_are_named(act, names):
    with pytest.raises(BadInput) as told:
        act()
    assert all(name in str(told.value) for name in names), str(told.value)


@checked
def summed(values: np.ndarray, times: int = 1, other: "np.ndarray | None" = None, act=None) -> float:
    if act is not None:
        act()
    return float(np.sum(values * times + (0 if other is None else other)))


def test_arguments_are_converted_to_what_annotations_name():
    assert summed([1, 2], 2.0) == 6.0
    assert summed((1, 2), other=[1, 1]) == 5.0
    for wrong in ("x", None, [[1], [1, 2]], {"a": 1}):
        with pytest.raises(BadInput, match="values="):
            summed(wrong)
    for wrong in (1.5, True, "1", float("inf")):
        with pytest.raises(BadInput, match="times="):
            summed([1], wrong)


def test_what_does_not_fit_together_is_told_by_name_and_shape():
    with pytest.raises(BadInput, match=r"values = array of shape \(2,\), other = array of shape \(3,\)"):
        summed([1, 2], other=[1, 2, 3])


def test_errors_of_a_users_own_function_pass():
    def mine():
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$") as told:
        summed([1], act=mine)
    assert not isinstance(told.value, ScalinglabError)


def test_more_memory_than_there_is_is_refused():
    @checked
    def zeros(count: int) -> int:
        return len(np.zeros(count))

    with pytest.raises(BadInput, match=r"count = \d+:"):
        zeros(2**60)


def test_results_for_no_points_have_words():
    empty = np.array([])
    for found in (
        sl.theory.kernel.learning_curve(SPECTRUM, empty),
        sl.theory.perceptron.fixed_norm(empty, 1.0),
        sl.theory.dmft.solve(SPECTRUM, empty),
    ):
        assert "asked for" in found.summary()


def test_each_of_several_laws_is_checked():
    law = sl.laws.fit("power_law", [1.0, 10.0, 100.0], [1.0, 0.5, 0.26])
    with pytest.raises(BadInput, match=r"others=.* Law"):
        sl.figures.laws.law(law, "another")


def test_a_division_by_zero_is_the_users_only_where_a_number_vanishes():
    @checked
    def share(part: float, whole: float) -> float:
        return part / whole**4

    @checked
    def faulty(n: int) -> float:
        return n / (n - n)

    for whole in (0.0, 1e-90):
        with pytest.raises(BadInput, match=f"share cannot compute with part = 1.0, whole = {whole}"):
            share(1.0, whole)
    with pytest.raises(ZeroDivisionError):  # a fault of this package is not told as one of the user
        faulty(3)
