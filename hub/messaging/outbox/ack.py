"""Tokens for a silent answer: `HEARTBEAT_OK`, `NO_REPLY`. Pure."""

from __future__ import annotations

import re

HEARTBEAT_OK = "HEARTBEAT_OK"
NO_REPLY = "NO_REPLY"
ACK_LIMIT = 300
"""Characters that may stand around the token, and the whole is still nothing worth telling."""

_AROUND = " \t\r\n*_~`#>\"'()[].!,;:-–—。！，、："
_WRAPPING = " \t\r\n*_~`#>([\"'"
_TAG_LIMIT = 64
_TAG_AT_END = re.compile(r"</?[a-zA-Z][^<>]{0,60}>\Z")
_TAG_AT_START = re.compile(r"\A</?[a-zA-Z][^<>]{0,60}>")


def strip_ack(text: str, limit: int = ACK_LIMIT, token: str = HEARTBEAT_OK) -> str | None:
    """Return the answer without such a token; None if nothing is left.

    A token counts at the start or at the end of the answer, bare or wrapped in Markdown or HTML; in the middle it is
    part of the message.

    Args:
        text: The answer.
        limit: Characters that may remain beside the token in a silent answer.
        token: The token.
    """
    rest, found = _without(text, token)
    if not found:
        return rest.strip() or None
    rest = rest.strip()
    return None if len(rest) <= limit else rest


def is_silent(text: str) -> bool:
    """Whether an answer is empty, or a token and nothing else."""
    return any(strip_ack(text, 0, token) is None for token in (NO_REPLY, HEARTBEAT_OK))


def declines(text: str) -> bool:
    """Whether an answer is to be suppressed: it is only a token, or it begins with `NO_REPLY`."""
    if NO_REPLY not in text and HEARTBEAT_OK not in text:
        return not text.strip()
    return _cut_start(text, NO_REPLY)[1] or is_silent(text)


def may_decline(text: str) -> bool:
    """Whether an answer with this beginning may still turn out to be suppressed."""
    rest = _trimmed_start(text)
    return any(token.startswith(rest[: len(token)]) for token in (NO_REPLY, HEARTBEAT_OK))


def without_token(text: str) -> str:
    """Return an answer without a `NO_REPLY` at its end."""
    return _cut_end(text, NO_REPLY)[0] if text.rstrip().endswith(NO_REPLY) else text


def _without(text: str, token: str) -> tuple[str, bool]:
    if token not in text:
        return text, False
    text, at_start = _cut_start(text, token)
    text, at_end = _cut_end(text, token)
    return text, at_start or at_end


def _cut_start(text: str, token: str) -> tuple[str, bool]:
    rest = _trimmed_start(text)
    behind = rest[len(token) : len(token) + 2].strip("_")
    if not rest.startswith(token) or behind[:1].isalnum():
        return text, False
    return _trimmed_start(rest[len(token) :]), True


def _cut_end(text: str, token: str) -> tuple[str, bool]:
    rest = _trimmed_end(text, _AROUND)
    if not rest.endswith(token) or rest[: -len(token)][-1:].isalnum():
        return text, False
    return _trimmed_end(rest[: -len(token)], _WRAPPING), True


def _trimmed_start(text: str) -> str:
    while True:
        text = text.lstrip(_AROUND)
        tag = _TAG_AT_START.match(text[:_TAG_LIMIT])
        if tag is None:
            return text
        text = text[tag.end() :]


def _trimmed_end(text: str, around: str) -> str:
    while True:
        tag = _TAG_AT_END.search(text.rstrip()[-_TAG_LIMIT:])
        trimmed = text.rstrip()[: -len(tag[0])] if tag is not None else text.rstrip(around)
        if trimmed == text:
            return text
        text = trimmed
