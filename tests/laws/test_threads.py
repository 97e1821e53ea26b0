"""Fits take one thread of linear algebra, whatever the process has, and give the others back."""

from threadpoolctl import threadpool_info, threadpool_limits

import scalinglab as sl


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_a_fit_takes_one_thread_and_gives_the_others_back():
    seen = []

    def line(x, slope):
        seen.append(threads())
        return slope * x

    form = sl.laws.Form("line", "a x", (sl.laws.Parameter("slope", 0.0, 10.0, start=(1.0,)),), line)
    with threadpool_limits(2, user_api="blas"):
        sl.laws.fit(form, [1.0, 2.0, 3.0, 4.0], [2.0, 4.1, 5.9, 8.0])
        assert threads() == {2}
    assert seen
    assert set.union(*seen) == {1}
