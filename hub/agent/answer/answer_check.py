"""Answers as JSON: how they are requested and checked. Pure."""

from __future__ import annotations

import re

import orjson

from hub.models.answer_form import AnswerForm
from hub.tools.json_check import find_problems

PROBLEMS_SHOWN = 5
_FENCED = re.compile(r"^\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


def form_instruction(form: AnswerForm) -> str:
    """Return the instruction to answer in JSON, since not every provider can enforce a form."""
    text = "Your final answer is one JSON object and nothing else: no other words, no code fence."
    if form.schema is None:
        return text
    return f"{text} It fits this JSON Schema:\n{orjson.dumps(dict(form.schema)).decode()}"


def retry_instruction(problem: str) -> str:
    """Return the request to answer again, because the answer is not in the form."""
    return f"This answer is not in the form that was asked for: {problem}. Answer again, with the JSON alone."


def strip_fence(text: str) -> str:
    """Return an answer without a surrounding code fence."""
    fenced = _FENCED.match(text)
    return (fenced[1] if fenced else text).strip()


def problem_of(text: str, form: AnswerForm) -> str | None:
    """Return the problem of an answer, or None."""
    try:
        value = orjson.loads(strip_fence(text))
    except ValueError as error:
        return f"it is not JSON ({error})"
    if form.schema is None:
        return None if isinstance(value, dict) else "it is not a JSON object"
    return "; ".join(find_problems(value, form.schema)[:PROBLEMS_SHOWN]) or None
