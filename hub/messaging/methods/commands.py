"""`commands.list`: the slash commands there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import All, Length, Optional, Schema, string
from hub.core.surfaces import READ, Method, MethodCall
from hub.messaging.commands.registry import Category, ChatCommand, Commands

OWNER = "gateway"

_LIST = Schema(
    {
        Optional("agentId"): str,
        Optional("language", description="Of the descriptions, such as zh-CN; the home's without it."): All(
            string, Length(max=35)
        ),
    }
)


class CommandMethods:
    """The method about commands."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def methods(self) -> list[Method]:
        """Return the method."""
        return [Method("commands.list", self._list, OWNER, _LIST, READ)]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        language = call.params.get("language") or self._commands.language()
        return {"commands": [_shown(command, language) for command in self._commands.all() if command.listed]}


def _shown(command: ChatCommand, language: str) -> dict[str, Any]:
    is_skill = command.category is Category.SKILLS
    written = command.usage.partition(" ")[2]
    shown: dict[str, Any] = {
        "name": command.name,
        "nativeName": command.name,
        "textAliases": [f"/{name}" for name in (command.name, *command.aliases)],
        "description": command.about(language),
        "category": "tools" if is_skill else command.category.value,
        "source": "skill" if is_skill else "native",
        "scope": "both",
        "acceptsArgs": bool(written),
    }
    if written:
        argument = {"name": "arguments", "description": written, "type": "string", "required": command.required}
        shown["args"] = [
            argument
            | ({"choices": [{"value": each, "label": each} for each in command.choices]} if command.choices else {})
        ]
    return shown
