"""Configuration of commands: `exec:`, and the same keys where an agent has its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.config.sections import Section
from hub.core.errors import InvalidRequest
from hub.core.schema import All, Described, In, Invalid, Length, Optional, Schema, boolean, ensure_list
from hub.tools.command_line import read_command, runs_others

MODES = ("deny", "allowlist", "ask", "full")
ALLOW_LIMIT = 200
ANY = "*"

_PLACE = "@any@"
_ANY_WORD = re.compile(r"[^-/~.\s][^\x00-\x1f\x7f/]{0,254}")


def _words(line: str) -> tuple[str, ...]:
    """Return the words of an allowed command; `*` is one of them."""
    words = read_command(re.sub(r"(?<=\s)\*(?=\s|$)", _PLACE, line)).words
    return tuple(ANY if each == _PLACE else each for each in words)


def _allowed(value: Any) -> str:
    if not isinstance(value, str):
        raise Invalid("expected a command, such as apcaccess status")
    try:
        reason = runs_others(_words(value))
    except InvalidRequest as error:
        raise Invalid(error.message.removeprefix("command: ")) from error
    if reason is not None:
        raise Invalid(f"{value!r:.80} cannot be allowed: {reason}, and what it runs is asked about each time")
    return value


EXEC_KEYS = {
    Optional(
        "mode",
        description="deny: no commands; allowlist: only allowed ones; ask: all others after the owner's yes; full: all "
        "of an owner, unless words from outside are in the conversation.",
    ): In(MODES),
    Optional(
        "allow",
        description="Commands that run without asking, word by word; * is any one word that is no option and no path.",
    ): All(
        ensure_list(Described(_allowed, {"type": "string"}, "text")),
        Length(max=ALLOW_LIMIT),
    ),
    Optional(
        "trust_output",
        description="Whether what commands print counts as this home's own words. Otherwise the conversation counts as "
        "having words from outside, and its next command does not run on the hub's machine.",
    ): boolean,
}

EXEC_SCHEMA = Schema(EXEC_KEYS)
SECTIONS = (Section("exec", EXEC_SCHEMA, default={}, description="Which commands agents may run."),)


class ExecRules(Struct, frozen=True):
    """What the configuration says of commands.

    Attributes:
        mode: deny | allowlist | ask | full.
        allow: Commands that run without asking, in words.
        trust_output: Whether what they print counts as this home's own words.
    """

    mode: str = "ask"
    allow: tuple[tuple[str, ...], ...] = ()
    trust_output: bool = False

    @classmethod
    def from_config(cls, section: Mapping[str, Any], agent: Mapping[str, Any]) -> ExecRules:
        """Read the validated section `exec:` and the keys of an agent, which go before it."""
        found = {**section, **agent}
        allow = tuple(_words(line) for line in found.get("allow", ()))
        return cls(found.get("mode", "ask"), allow, found.get("trust_output", False))

    def allows(self, words: tuple[str, ...]) -> bool:
        """Whether a command is one of the allowed."""
        return any(
            len(rule) == len(words)
            and all(
                _ANY_WORD.fullmatch(word) is not None if each == ANY else each == word
                for each, word in zip(rule, words, strict=True)
            )
            for rule in self.allow
        )
