"""Configuration of commands: `exec:`, and the same keys where an agent has its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.config.sections import Section
from hub.core.schema import All, Described, In, Invalid, Length, Optional, Schema, boolean, ensure_list, string
from node.rules.allowed_words import allowed_words, is_allowed
from node.rules.command_line import CommandRefused

MODES = ("deny", "allowlist", "ask", "full")
ALLOW_LIMIT = 200


def _allowed(value: Any) -> str:
    if not isinstance(value, str):
        raise Invalid("expected a command, such as apcaccess status")
    try:
        allowed_words(value)
    except CommandRefused as error:
        raise Invalid(str(error).removeprefix("command: ")) from error
    return value


EXEC_KEYS = {
    Optional(
        "mode",
        description="deny: no commands; allowlist: only allowed ones; ask: all others after the owner's yes; full: all "
        "of an owner, unless text that others wrote is in the conversation.",
    ): In(MODES),
    Optional(
        "allow",
        description="Commands that run in the workspace without asking, word by word; * is any one word that is no "
        "option, no path, no @file, and has no sign of a shell.",
    ): All(
        ensure_list(Described(_allowed, {"type": "string"}, "text")),
        Length(max=ALLOW_LIMIT),
    ),
    Optional(
        "trust_output",
        description="Whether what commands print counts as this home's own words. Otherwise the conversation counts as "
        "having text that others wrote, and its next command does not run on the hub's machine.",
    ): boolean,
    Optional(
        "reader",
        description="A model that reads what would run without asking (but what is known to be harmless), and can have "
        "you asked; it never lets anything run.",
    ): All(string, Length(min=1, max=200)),
}

EXEC_SCHEMA = Schema(EXEC_KEYS)
SECTIONS = (Section("exec", EXEC_SCHEMA, default={}, description="Which commands agents may run."),)


class ExecRules(Struct, frozen=True):
    """The configured rules for commands.

    Attributes:
        mode: deny | allowlist | ask | full.
        allow: Commands that run without asking, in words.
        trust_output: Whether their output counts as this home's own words.
        reader: A model that may have the owner asked.
    """

    mode: str = "ask"
    allow: tuple[tuple[str, ...], ...] = ()
    trust_output: bool = False
    reader: str | None = None

    @classmethod
    def from_config(cls, section: Mapping[str, Any], agent: Mapping[str, Any]) -> ExecRules:
        """Read the validated section `exec:` and the keys of an agent, which take precedence."""
        found = {**section, **agent}
        allow = tuple(allowed_words(line) for line in found.get("allow", ()))
        return cls(found.get("mode", "ask"), allow, found.get("trust_output", False), found.get("reader"))

    def allows(self, words: tuple[str, ...]) -> bool:
        """Whether a command is one of the allowed."""
        return any(is_allowed(words, rule) for rule in self.allow)
