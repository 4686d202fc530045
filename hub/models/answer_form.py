"""JSON as the form of an answer: requested by clients, passed to providers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class AnswerForm(Struct, frozen=True):
    """An answer that is JSON.

    Attributes:
        schema: JSON Schema that it fits; None for any object.
        name: The client's name for it.
        strict: Whether the provider must follow the schema exactly.
    """

    schema: Mapping[str, Any] | None = None
    name: str = "answer"
    strict: bool | None = None

    def response_format(self) -> dict[str, Any]:
        """Return it in the Chat Completions form."""
        if self.schema is None:
            return {"type": "json_object"}
        asked: dict[str, Any] = {"name": self.name, "schema": dict(self.schema)}
        if self.strict is not None:
            asked["strict"] = self.strict
        return {"type": "json_schema", "json_schema": asked}
