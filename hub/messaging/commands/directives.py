"""Directives in a message: settings for its answer alone, and commands that run at once; pure.

What is in code, in a quotation, in a path or in a URL is text, and so is what does not fit a directive exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from hub.core.lazy_pattern import LazyPattern
from hub.models.thinking import WORDS

THINKING: Mapping[str, str | None] = {**WORDS, "default": None}
SHORTCUTS = ("status", "whoami", "help", "commands")
"""Commands that run at once inside a message, which goes on without them."""


class Setting(Struct, frozen=True):
    """A setting of a conversation that a command changes.

    Attributes:
        name: The name of the command.
        field: The field of the session, and of a message's options.
        values: What can be written, and the stored value; None is the configuration's.
        pattern: What can be written, when that is not a list.
        aliases: Other names of the command.
        owner_only: Whether it takes an owner.
        inline: Whether it can be set for one message.
    """

    name: str
    field: str
    values: Mapping[str, str | None] = {}
    pattern: str | None = None
    aliases: tuple[str, ...] = ()
    owner_only: bool = False
    inline: bool = True

    def stored_value(self, written: str) -> str | None:
        """Return the value to store for a written one."""
        return self.values[written.lower()] if self.values else written


_QUEUE = r"(?:collect|steer|followup|steer[-_+]backlog|interrupt)(?:[ \t]+(?:debounce|cap|drop):[^\s,]+)*"

SETTINGS: Mapping[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("think", "thinking", THINKING, aliases=("thinking", "t")),
        Setting("verbose", "verbose", {"off": "off", "on": "on", "full": "full"}, aliases=("v",)),
        Setting("reasoning", "reasoning", {"off": "off", "on": "on", "stream": "stream"}, aliases=("reason",)),
        Setting("usage", "footer", {"off": "off", "tokens": "tokens", "full": "full"}),
        Setting("model", "model", pattern=r"[\w./:@-]+", owner_only=True),
        Setting("queue", "queue", pattern=_QUEUE),
        Setting("send", "send", {"on": "on", "off": "off", "inherit": None}, owner_only=True, inline=False),
        Setting("activation", "activation", {"mention": "mention", "always": "always"}, owner_only=True, inline=False),
    )
}


class Directives(Struct, frozen=True):
    """The directives in a message.

    Attributes:
        text: The message without them.
        commands: All of them as commands, name and arguments, in order.
        options: The settings for the answer to this message; of several of one kind the last.
        shortcuts: Names of the commands to run at once.
    """

    text: str
    commands: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, str] = {}
    shortcuts: tuple[str, ...] = ()


def _value(setting: Setting) -> str:
    return setting.pattern or "|".join(value for value, kept in setting.values.items() if kept is not None)


_NAMES = "|".join(
    rf"(?:{'|'.join((each.name, *each.aliases))})(?:@\w+)?(?:[ \t]*:[ \t]*|[ \t]+)(?P<{each.name}>(?i:{_value(each)}))"
    for each in SETTINGS.values()
    if each.inline
)
_DIRECTIVE = LazyPattern(rf"(?<!\S)/(?:{_NAMES}|(?P<shortcut>{'|'.join(SHORTCUTS)})(?:@\w+)?)(?!\S)")
_TEXT_ONLY = LazyPattern(
    r"^[ \t]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)|\Z)|`[^`\n]+`|^[ \t]*>[^\n]*", re.DOTALL | re.MULTILINE
)


def parse_directives(text: str, may: Callable[[str, str], bool]) -> Directives:
    """Return the directives of a message, and its text without them.

    Args:
        text: The message.
        may: Whether the sender may use the directive of this name with this value; else it is text.
    """
    if "/" not in text:
        return Directives(text)
    protected = [match.span() for match in _TEXT_ONLY.finditer(text)]
    commands, options, shortcuts = [], {}, []
    left, position = "", 0
    for match in _DIRECTIVE.finditer(text):
        if any(start <= match.start() < end for start, end in protected):
            continue
        name, value = str(match.lastgroup), match[str(match.lastgroup)]
        if name == "shortcut":
            name, value = value, ""
        if not may(name, value):
            continue
        commands.append((name, value))
        if name in SETTINGS:
            options[SETTINGS[name].field] = str(SETTINGS[name].stored_value(value))
        else:
            shortcuts.append(name)
        left, position = _joined(left + text[position : match.start()], text, match.end())
    return Directives(left + text[position:], tuple(commands), options, tuple(shortcuts))


def _joined(left: str, text: str, position: int) -> tuple[str, int]:
    """Return the text before a directive, and the start of the text after it, with one gap between."""
    left = left.rstrip(" \t")
    if left and not left.endswith("\n"):
        return left, position
    while text[position : position + 1] in (" ", "\t"):
        position += 1
    return left, position + (text[position : position + 1] == "\n")
