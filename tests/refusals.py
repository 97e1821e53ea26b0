"""What a refusal is asked for: the code of its reason and the values in it, in place of its sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scalinglab.results.types import reason_of


def because(code: str, **details: object) -> Callable[[BaseException], bool]:
    """For `pytest.raises(…, check=because("few_sizes", sizes=3))`: the error carries this reason.

    Args:
        code: of the reason; of a message, which has none, the test fails.
        details: values that the reason holds, among others; numbers to six digits.
    """

    def check(error: BaseException) -> bool:
        assert isinstance(error, Exception)
        reason = reason_of(error)
        assert reason.code == code, f"{reason.code}: {reason.details}"
        for name, value in details.items():
            found = reason.details[name]
            same = found == pytest.approx(value) if isinstance(value, (int, float)) else found == value
            assert same, f"{name}: {found!r}, not {value!r}"
        return True

    return check
