"""Elicitation: a server's questions to a person during a tool call, one question for each field.

https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.messaging.texts import say
from hub.tools.approval import ApprovalState, AskOwner
from hub.tools.contract import ToolCall
from hub.tools.questions import question_ask
from hub.tools.quoting import clean_text

FIELDS_LIMIT = 5
CHOICES_LIMIT = 8
TEXT_LIMIT, NAME_LIMIT = 300, 100
BOOLEAN = {"yes": True, "no": False, "是": True, "否": False}
_READ: Mapping[str, Callable[[str], Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": lambda said: BOOLEAN[said.casefold()],
}


class McpQuestions:
    """Asks the person of a conversation a server's questions.

    Args:
        ask: Puts a question to people and waits for the answer.
        language: Returns the home's language.
    """

    def __init__(self, ask: AskOwner, language: Callable[[], str]) -> None:
        self._ask, self._language = ask, language

    async def answers(
        self, server: str, call: ToolCall, message: str, schema: Mapping[str, Any], timeout_s: float
    ) -> dict[str, Any] | None:
        """Return the fields that are required, or all when none is; None when not all were answered.

        Raises:
            ValueError: It asks for something unsupported, or an answer has the wrong type.
        """
        fields: Mapping[str, Any] = schema.get("properties") or {}
        wanted = [name for name in fields if name in schema.get("required", ())] or list(fields)
        if not 0 < len(wanted) <= FIELDS_LIMIT:
            raise ValueError(f"expected 1 to {FIELDS_LIMIT} fields, got {len(wanted)}")
        found: dict[str, Any] = {}
        for name in wanted:
            field = fields[name]
            kind, choices = field.get("type"), [str(each) for each in field.get("enum", ())]
            if kind not in _READ or len(choices) > CHOICES_LIMIT:
                raise ValueError(f"the field {clean_text(name, NAME_LIMIT)} is of a kind that cannot be asked for")
            language = self._language()
            if kind == "boolean":
                choices = say("mcp.yes_no", language).split("|")
            asked = clean_text(str(field.get("description") or field.get("title") or name), NAME_LIMIT)
            text = say("mcp.asks", language, server=server, why=clean_text(message, TEXT_LIMIT), field=asked)
            question = question_ask(call, text, [clean_text(each, NAME_LIMIT) for each in choices], timeout_s)
            decision = await self._ask(question)
            if decision.state is not ApprovalState.ANSWERED or decision.answer is None:
                return None
            if choices and decision.answer not in choices:
                raise ValueError("the answer is none of the choices")
            found[name] = _READ[kind](decision.answer)
        return found
