"""The calculator: what it computes, and that it does nothing else and never takes long."""

from __future__ import annotations

import pytest

from hub.core.errors import InvalidRequest
from integrations.tools import calculator
from integrations.tools.calculator.arithmetic import compute
from tests.integrations.tools.standing import Standing


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        *(("0.1 + 0.2", "0.3"), ("2**200", str(2**200)), ("2^10", "1024"), ("(12.5 + 7) * 3", "58.5")),
        *(
            ("1/3", "0.333333333333333"),
            ("-7 // 2", "-4"),
            ("-7 % 3", "2"),
            ("100 * 1.19", "119"),
            ("0x10 + 1_0", "26"),
        ),
        *(("sqrt(2)", "1.4142135623731"), ("sin(pi/6)", "0.5"), ("log(8, 2)", "3"), ("round(2.345, 2)", "2.34")),
        *(("max(1, 2, 3)", "3"), ("factorial(20)", "2432902008176640000"), ("1e400", "1E+400"), ("1e-20", "1E-20")),
    ],
)
def test_arithmetic_has_its_value(expression: str, value: str) -> None:
    assert compute(expression) == value


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        *(
            ("1/0", "division by zero"),
            ("9**9**9", "too large"),
            ("sqrt(-1)", "no real number"),
            ("log(0)", "too large"),
        ),
        *(("factorial(10**9)", "from 0 to 1000"), ("1 +", "cannot be computed"), ("max()", "cannot be computed")),
        *(
            ("__import__('os')", "is not arithmetic"),
            ("(1).real", "is not arithmetic"),
            ("'a' * 9", "is not arithmetic"),
        ),
        *(("True", "is not arithmetic"), ("[1][0]", "is not arithmetic"), ("x := 1", "cannot be computed")),
        *(("abs(number=1)", "is not arithmetic"), ("(" * 499, "cannot be computed")),
        *(("1e99999", "too large"), ("round(1, 99999999)", "too large"), ("10**9999 * 10**9999", "too large")),
    ],
)
def test_what_is_no_arithmetic_or_has_no_value_says_so(expression: str, why: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        compute(expression)

    assert why in raised.value.message


async def test_it_is_used_in_any_conversation(standing: Standing) -> None:
    await standing.set_up(calculator)

    result = await standing.call("calculator", {"expression": "6*7"}, authority=standing.owner.narrow(tainted=True))

    assert (result.output, result.trusted) == ("42", True)
