"""Arithmetic of an expression: its syntax tree is walked, and only listed operators and functions are executed.

Numbers are decimal with a bounded number of digits, so no expression takes long.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal, DecimalException, localcontext
from typing import Any

from hub.core.errors import InvalidRequest

EXPRESSION_CHARS = 500
DIGITS = 100
EXPONENT_LIMIT = 10_000
SHOWN_DIGITS = 15
"""Of what is not a whole number."""
FACTORIAL_LIMIT = 1_000

Operation = Callable[..., Decimal]

_OPERATORS: Mapping[type[ast.AST], Operation] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda left, right: (left / right).to_integral_value("ROUND_FLOOR"),
    ast.Mod: lambda left, right: left - right * (left / right).to_integral_value("ROUND_FLOOR"),
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def _real(function: Callable[[float], float]) -> Operation:
    """Return a function over binary numbers, which have 15 digits, as one over decimal numbers."""
    return lambda number: Decimal(repr(function(float(number))))


def _log(number: Decimal, base: Decimal | None = None) -> Decimal:
    return number.ln() if base is None else number.ln() / base.ln()


def _factorial(number: Decimal) -> Decimal:
    if number != int(number) or not 0 <= number <= FACTORIAL_LIMIT:
        raise ValueError(f"factorial takes a whole number from 0 to {FACTORIAL_LIMIT}")
    return Decimal(math.factorial(int(number)))


_FUNCTIONS: Mapping[str, Operation] = {
    **{
        name: _real(getattr(math, name)) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "degrees", "radians")
    },
    "abs": abs,
    "ceil": lambda number: number.to_integral_value("ROUND_CEILING"),
    "exp": Decimal.exp,
    "factorial": _factorial,
    "floor": lambda number: number.to_integral_value("ROUND_FLOOR"),
    "ln": Decimal.ln,
    "log": _log,
    "log10": Decimal.log10,
    "log2": lambda number: _log(number, Decimal(2)),
    "max": max,
    "min": min,
    "round": lambda number, digits=Decimal(0): number.quantize(Decimal(1).scaleb(-int(digits)), ROUND_HALF_EVEN),
    "sqrt": Decimal.sqrt,
}
_CONSTANTS = {"pi": Decimal(repr(math.pi)), "e": Decimal(repr(math.e)), "tau": Decimal(repr(math.tau))}


def compute(expression: str) -> str:
    """Return the value of an expression.

    Raises:
        InvalidRequest: It is not arithmetic, or has no value; the message says what is wrong.
    """
    source = expression.strip().replace("^", "**")
    try:
        with localcontext(Context(prec=DIGITS, Emax=EXPONENT_LIMIT, Emin=-EXPONENT_LIMIT)):
            return _shown(_value(ast.parse(source, mode="eval").body, source))
    except InvalidRequest:
        raise
    except DecimalException as error:
        why = "division by zero" if "Division" in type(error).__name__ else "the result is too large, or no real number"
        raise InvalidRequest(f"{expression!r} has no value: {why}") from error
    except (SyntaxError, ValueError, TypeError, ArithmeticError, MemoryError, RecursionError) as error:
        why = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InvalidRequest(f"{expression!r} cannot be computed: {why}") from error


def _value(node: ast.expr, source: str) -> Decimal:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return +Decimal(number)
        case ast.Constant(value=float()):
            return +Decimal(ast.get_source_segment(source, node) or "NaN")  # as written: 0.1 is not a binary number
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(operand, source))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, source), _value(right, source))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(each, source) for each in arguments))
    raise InvalidRequest(
        f"{ast.unparse(node)[:60]!r} is not arithmetic; there are numbers, + - * / // % **, "
        f"{', '.join(_CONSTANTS)} and {', '.join(sorted(_FUNCTIONS))}"
    )


def _shown(value: Any) -> str:
    if value == value.to_integral_value() and value.adjusted() < DIGITS:
        return f"{value.quantize(Decimal(1)):f}"
    rounded = Context(prec=SHOWN_DIGITS).plus(value)
    plain = abs(rounded.adjusted()) < SHOWN_DIGITS
    return f"{rounded:f}".rstrip("0").rstrip(".") if plain and "." in f"{rounded:f}" else str(rounded)
