"""Shortens or drops old tool results in what a model is sent, never in the transcript. Pure.

Two rules. *Pruning* happens when the provider's cache of the conversation has run out anyway, so that nothing is paid
twice. The *guard* happens when the window is nearly full. The numbers of the first are those of OpenClaw.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.conversation.window import Item, estimate_message
from hub.models.contract import Image, Message, Role, TextBlock

CLEARED = "[Old tool result content cleared]"
REMOVED = "[tool output removed to make room; call the tool again if it is still needed]"
TRIMMED = "\n...\n[{left_out} of {size} characters were left out of this old tool result]"

SOFT_SHARE = 0.3
HARD_SHARE = 0.5
"""Shares of the window from which on old results are shortened, and cleared."""
TRIM_FROM_CHARS = 4_000
HEAD_CHARS = 1_500
TAIL_CHARS = 1_500
CLEAR_FROM_CHARS = 50_000
"""Old results are cleared only where they have so many characters together."""
KEPT_TURNS = 3
"""Answers of the assistant at the end whose results are left alone."""
GUARD_SHARE = 0.75
GUARD_TARGET = 0.6
"""Over the first share of the window, the oldest results are removed down to the second."""


class PruningSettings(Struct, frozen=True):
    """The keys of `agents[].pruning`.

    Attributes:
        mode: auto | cache_ttl | off; auto is cache_ttl for models of Anthropic, and off for others.
        ttl: Seconds after which a provider has forgotten the conversation; None goes by the model's.
        allow: Tools whose results may be shortened, with `*`; empty are all.
        deny: Tools whose results may not.
    """

    mode: str = "auto"
    ttl: float | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def is_on(self, model: str) -> bool:
        """Whether conversations with this model are pruned; `model` is `provider/id`."""
        return self.mode == "cache_ttl" or (self.mode == "auto" and ("anthropic" in model or "claude" in model))

    def allows(self, tool: str) -> bool:
        """Whether results of this tool may be shortened."""
        name = tool.casefold()
        if any(_matches(pattern, name) for pattern in self.deny):
            return False
        return not self.allow or any(_matches(pattern, name) for pattern in self.allow)


Replacements = dict[int, Message]
"""What takes the place of messages, by their index."""


def prune(items: Sequence[Item], tokens: int, window: int, settings: PruningSettings) -> Replacements:
    """Return replacements for old tool results once the provider's cache has expired.

    Results with images, of the last three answers, and before the first message of a user stay as they are.

    Args:
        items: The conversation.
        tokens: About how many tokens a request has now, prompt and tools included.
        window: The window of the model.
        settings: Which tools, and whether at all.
    """
    if tokens < window * SOFT_SHARE:
        return {}
    found = [at for at in _old_results(items) if settings.allows(items[at].message.tool_name or "")]
    changed: Replacements = {}
    for at in found:
        trimmed = _trimmed(items[at].message)
        if trimmed is not None:
            changed[at] = trimmed
            tokens -= items[at].tokens - estimate_message(trimmed)
    left = {at: changed.get(at, items[at].message) for at in found}
    if tokens < window * HARD_SHARE or sum(len(message.text) for message in left.values()) < CLEAR_FROM_CHARS:
        return changed
    for at, message in left.items():
        if tokens < window * HARD_SHARE:
            break
        cleared = _instead(message, CLEARED)
        tokens -= estimate_message(message) - estimate_message(cleared)
        changed[at] = cleared
    return changed


def guard(items: Sequence[Item], tokens: int, window: int) -> Replacements:
    """Return replacements for the oldest tool results when the window is nearly full.

    The results of the newest calls stay, and so do results no longer than the mark.
    """
    if tokens <= window * GUARD_SHARE:
        return {}
    last = next((at for at in range(len(items) - 1, -1, -1) if items[at].message.role is Role.ASSISTANT), 0)
    changed: Replacements = {}
    for at, item in enumerate(items[:last]):
        if tokens <= window * GUARD_TARGET:
            break
        if item.message.role is not Role.TOOL:
            continue
        removed = _instead(item.message, REMOVED)
        gained = item.tokens - estimate_message(removed)
        if gained > 0:
            changed[at] = removed
            tokens -= gained
    return changed


def _old_results(items: Sequence[Item]) -> list[int]:
    """Return the positions of tool results that may be shortened."""
    first = next((at for at, item in enumerate(items) if item.message.role is Role.USER), len(items))
    answers = [at for at, item in enumerate(items) if item.message.role is Role.ASSISTANT]
    if len(answers) < KEPT_TURNS:
        return []
    return [at for at in range(first, answers[-KEPT_TURNS]) if _is_plain_result(items[at].message)]


def _is_plain_result(message: Message) -> bool:
    return message.role is Role.TOOL and not any(type(block) is Image for block in message.content)


def _trimmed(message: Message) -> Message | None:
    text = message.text
    if len(text) <= TRIM_FROM_CHARS:
        return None
    left_out = len(text) - HEAD_CHARS - TAIL_CHARS
    note = TRIMMED.format(left_out=left_out, size=len(text))
    return _instead(message, f"{text[:HEAD_CHARS]}\n...\n{text[-TAIL_CHARS:]}{note}")


def _instead(message: Message, text: str) -> Message:
    return replace(message, content=(TextBlock(text),))


@lru_cache(maxsize=512)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern.casefold()))


def _matches(pattern: str, name: str) -> bool:
    return _pattern(pattern).match(name) is not None
