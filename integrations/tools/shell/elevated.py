"""`/elevated`: an owner lets the commands of a conversation run on the hub's machine, until the hub is restarted.

It never holds for a turn with words from outside, nor for anybody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.context import Authority
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandPlace
from hub.messaging.texts import say
from hub.tools.contract import ToolCall

LEVELS = ("off", "on", "ask", "full")
"""on and ask: on the hub's machine, by its rules; full: without a question as well."""
HELP = {"en": "let your commands here run on the machine itself", "zh-CN": "允许您在此的命令直接在这台机器上运行"}
SESSIONS_LIMIT = 1_000


class Elevated:
    """The conversations whose commands run on the hub's machine.

    Args:
        settings: Returns the validated section `tools`.
    """

    def __init__(self, settings: Callable[[], Mapping[str, Any]], language: Callable[[], str]) -> None:
        self._settings, self._language = settings, language
        self._levels: dict[str, str] = {}

    def of(self, call: ToolCall) -> str:
        """Return the level that holds for a call."""
        authority = call.context.authority
        if not authority.owner or authority.tainted or self._refusal(authority) is not None:
            return "off"
        return self._levels.get(call.session_key, "off")

    def forget(self, session_key: str) -> None:
        """Return to the configured setting."""
        self._levels.pop(session_key, None)

    def command(self) -> ChatCommand:
        """Return the command."""
        return ChatCommand(
            "elevated",
            self._run,
            Category.OPTIONS,
            owner_only=True,
            where=CommandPlace.DIRECT,
            aliases=("elev",),
            choices=LEVELS,
            help=HELP,
        )

    async def _run(self, call: CommandCall) -> str:
        language, key = self._language(), call.session_key
        if (refusal := self._refusal(call.context.authority)) is not None:
            return say(f"elevated.{refusal}", language)
        if call.word in LEVELS:
            self.forget(key)
            if call.word != "off" and len(self._levels) < SESSIONS_LIMIT:
                self._levels[key] = call.word
        return say(f"elevated.{self._levels.get(key, 'off')}", language)

    def _refusal(self, authority: Authority) -> str | None:
        """Return why the configuration does not allow it to whoever speaks, as the name of a text; None if it does."""
        settings = self._settings()
        if not settings["elevated"]:
            return "forbidden"
        senders, sender = settings.get("elevated_from"), authority.principal.removeprefix("peer:")
        from_chat = sender != authority.principal
        return "sender" if from_chat and senders is not None and sender not in senders else None
