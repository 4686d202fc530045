"""What of an answer is delivered: silent tokens and directives are taken out of what a model wrote. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from hub.messaging.outbox.ack import declines, may_decline, without_token
from hub.messaging.outbox.chunking import open_fence
from hub.models.contract import Message, Role

CONTAINED_FROM = 10
"""Characters from which an answer that is part of a sent message counts as sent."""

_MARKS = re.compile(
    r"(?P<code>```.*?(?:```|\Z)|`[^`\n]+`)"
    r"|(?P<directive>\[\[[ \t]*(?P<name>reply_to_current|reply_to|reply|silent|media|voice|audio_as_voice)"
    r"[ \t]*(?::[ \t]*(?P<value>[^\[\]\n]{1,1000}?))?[ \t]*\]\][ \t]*\n?)",
    re.DOTALL | re.IGNORECASE,
)

_UNSETTLED = re.compile(r"(?:\[|\[\[[^\[\]\n]{0,1000}\]?)\Z")
"""The end of a text that may become a directive."""
_FACT = re.compile(r"\{(\w+)\}")


class ParsedReply(Struct, frozen=True):
    """An answer without what is not for people.

    Attributes:
        text: What is delivered; None when nothing is.
        reply_to: The platform's id of the message to reply to, when the answer names one.
        reply_to_current: Whether it is to be a reply to the message it answers.
        silent: Whether it should arrive without a sound.
        media: Files to attach, as the answer names them.
        voice: Whether audio among them is a voice message.
    """

    text: str | None
    reply_to: str | None = None
    reply_to_current: bool = False
    silent: bool = False
    media: tuple[str, ...] = ()
    voice: bool = False


def parse_reply(answer: str) -> ParsedReply:
    """Take directives and silent tokens out of an answer; what is in code stays as it is.

    Directives are `[[reply_to_current]]`, `[[reply_to:ID]]`, `[[silent]]`, `[[media:PATH]]` and `[[voice]]`.
    """
    found: dict[str, str] = {}
    media: list[str] = []

    def taken(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        name, value = match["name"].lower(), (match["value"] or "").strip()
        if name in ("reply_to", "reply", "media") and not value:
            return match[0]
        if name == "media":
            media.append(value)
        else:
            found["reply_to" if name == "reply" else name] = value
        at_start = match.start() == 0 or answer[match.start() - 1] == "\n"
        return "" if at_start or not match[0].endswith("\n") else "\n"

    text = _MARKS.sub(taken, answer).strip()
    if declines(text) and text:
        return ParsedReply(None)
    return ParsedReply(
        text=without_token(text).strip(),
        reply_to=found.get("reply_to"),
        reply_to_current="reply_to_current" in found,
        silent="silent" in found,
        media=tuple(media),
        voice="voice" in found or "audio_as_voice" in found,
    )


def shown_so_far(answer: str) -> ParsedReply:
    """Return what of an answer that is being written is delivered, whatever follows; its text only grows."""
    parsed = parse_reply(_UNSETTLED.sub("", answer))
    return replace(parsed, text="" if may_decline(parsed.text or "") else parsed.text)


def was_said(text: str, sent: Iterable[str]) -> bool:
    """Whether a text was sent already: the same words, or as part of a longer message."""
    words = _words(text)
    if not words:
        return False
    return any(words == each or (len(words) >= CONTAINED_FROM and words in each) for each in map(_words, sent))


def failed_tool(messages: Sequence[Message]) -> str | None:
    """Return the tool whose failure was the last thing that happened in a run, or None."""
    last = next((each for each in reversed(messages) if each.role is Role.TOOL), None)
    return last.tool_name if last is not None and last.is_error else None


def prefixed(text: str, prefix: str | None, facts: Mapping[str, str]) -> str:
    """Return an answer with the configured prefix, once; `{…}` in it are facts."""
    if not prefix:
        return text
    filled = _FACT.sub(lambda fact: facts.get(fact[1], fact[0]), prefix).lstrip()
    if text.startswith(filled):
        return text
    return f"{filled}{'' if filled[-1:].isspace() else ' '}{text}"


def digest(text: str) -> str:
    """Return what a streamed beginning of an answer is known by."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def rest_of(answer: str, covered: Iterable[tuple[int, str]]) -> str:
    """Return what of an answer was not sent yet; a fence that is open where it is cut is opened again.

    Args:
        answer: As it is delivered.
        covered: Of each block that was sent: how many characters of its answer end with it, and their digest.
    """
    for length, known in sorted(covered, reverse=True):
        if length <= len(answer) and digest(answer[:length]) == known:
            fence = open_fence(answer[:length])
            rest = answer[length:]
            if fence is None or not rest.strip(" \n`~"):
                return "" if fence is not None else rest
            return f"{fence[0]}{fence[1]}\n{rest.lstrip(chr(10))}"
    return answer


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()
