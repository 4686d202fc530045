"""Agents' questions to people: their form, and the meaning of answers. Pure.

They wait, end and are limited like approvals (`hub.tools.approvals`); an answer is words, not a permission.
"""

from __future__ import annotations

from collections.abc import Sequence

from hub.core.errors import InvalidRequest
from hub.tools.approval import QUESTION, Approval, Ask
from hub.tools.contract import ToolCall

ANSWER_LIMIT = 4_000
"""Characters of an answer."""
SECRET = "secret"  # noqa: S105  a key, not a value
"""The key of a question's details that names the secret it asks for; such a question is never answered in words."""


def question_ask(call: ToolCall, text: str, choices: Sequence[str], timeout_s: float) -> Ask:
    """Return an agent's question to the person of its conversation."""
    return Ask(
        kind=QUESTION,
        title=text,
        text="",
        details={"question": text, "choices": list(choices), "agent": call.agent_id},
        context=call.context,
        session_key=call.session_key,
        run_id=call.run_id,
        timeout_s=timeout_s,
    )


def choices_of(question: Approval) -> tuple[str, ...]:
    """Return the choices of a question."""
    return tuple(question.details.get("choices", ()))


def match_choice(question: Approval, text: str) -> str:
    """Return an answer: the choice it names, by words or number, or else the words themselves.

    Raises:
        InvalidRequest: The answer is empty or too long, or the question asks for a secret.
    """
    if (name := question.details.get(SECRET)) is not None:
        raise InvalidRequest(f"a secret is given on the dashboard or by: homarus secrets set {name}; never in words")
    said, choices = text.strip(), choices_of(question)
    if not said or len(said) > ANSWER_LIMIT:
        raise InvalidRequest(f"expected an answer of 1 to {ANSWER_LIMIT} characters")
    for choice in choices:
        if choice.casefold() == said.casefold():
            return choice
    number = said.rstrip(".)")
    if number.isascii() and number.isdigit() and 1 <= int(number[:4]) <= len(choices):
        return choices[int(number[:4]) - 1]
    return said
