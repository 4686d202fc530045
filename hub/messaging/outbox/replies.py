"""Shapes answers of runs for the outbox, without the parts already sent while they were written.

Silent tokens and directives are removed from a model's text.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.run_request import EMPTY, RunResult, RunStatus
from hub.agent.workspace.workspace import Workspaces
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.lazy_pattern import LazyPattern
from hub.core.sql import SqlConnection
from hub.messaging.capabilities import Capability
from hub.messaging.contract import Address, ChatType, MediaKind, OutboundMedia
from hub.messaging.limit_texts import limit_text, notice_text
from hub.messaging.outbox.ack import declines, may_decline, without_token
from hub.messaging.outbox.chunking import close_fence, open_fence
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.outbox_rows import (
    OF_CHAT,
    NewMessage,
    NewText,
    OutboxRow,
    Outgoing,
    RowSource,
    Withdrawal,
    select_rows,
)
from hub.messaging.texts import say
from hub.models.contract import Message, Role

ROWS_LIMIT = 500
"""Rows of one run that are looked at for what was sent already."""

_KINDS = {"image": MediaKind.IMAGE, "audio": MediaKind.AUDIO, "video": MediaKind.VIDEO}
CONTAINED_FROM = 10
"""Characters from which an answer that is part of a sent message counts as sent."""

_MARKS = LazyPattern(
    r"(?P<code>```.*?(?:```|\Z)|`[^`\n]+`)"
    r"|(?P<directive>\[\[[ \t]*(?P<name>reply_to_current|reply_to|reply|silent|media|voice|audio_as_voice)"
    r"[ \t]*(?::[ \t]*(?P<value>[^\[\]\n]{1,1000}?))?[ \t]*\]\][ \t]*\n?)",
    re.DOTALL | re.IGNORECASE,
)

_UNSETTLED = LazyPattern(r"(?:\[|\[\[[^\[\]\n]{0,1000}\]?)\Z")
"""The end of a text that may become a directive."""
_FACT = LazyPattern(r"\{(\w+)\}")


class ParsedReply(Struct, frozen=True):
    """An answer without its directives.

    Attributes:
        text: The delivered text; None when there is none.
        reply_to: The platform's id of the message to reply to, when the answer names one.
        reply_to_current: Whether it is sent as a reply to the message it answers.
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
    """Remove directives and silent tokens from an answer; code stays unchanged.

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


def delivered_so_far(answer: str) -> ParsedReply:
    """Return the part of an unfinished answer that is certain to be delivered; it only grows."""
    parsed = parse_reply(_UNSETTLED.sub("", answer))
    return replace(parsed, text="" if may_decline(parsed.text or "") else parsed.text)


def was_sent(text: str, sent: Iterable[str]) -> bool:
    """Whether a text was sent already: the same words, or part of a longer message."""
    words = _words(text)
    if not words:
        return False
    return any(words == each or (len(words) >= CONTAINED_FROM and words in each) for each in map(_words, sent))


def failed_tool(messages: Sequence[Message]) -> str | None:
    """Return the tool whose failure was the last event of a run, or None."""
    last = next((each for each in reversed(messages) if each.role is Role.TOOL), None)
    return last.tool_name if last is not None and last.is_error else None


def with_prefix(text: str, prefix: str | None, facts: Mapping[str, str]) -> str:
    """Return an answer with the configured prefix, once; `{…}` in it are facts."""
    if not prefix:
        return text
    filled = _FACT.sub(lambda fact: facts.get(fact[1], fact[0]), prefix).lstrip()
    if text.startswith(filled):
        return text
    return f"{filled}{'' if filled[-1:].isspace() else ' '}{text}"


def digest(text: str) -> str:
    """Return the digest of a streamed beginning of an answer."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def rest_of(answer: str, covered: Iterable[tuple[int, str]]) -> str:
    """Return the unsent rest of an answer; a code fence open at the cut is opened again.

    Args:
        answer: The answer as it is delivered.
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


def message_of(answer: str) -> NewMessage | None:
    """Return an answer as a message for another chat, or None if nothing of it is for people."""
    parsed = parse_reply(answer)
    return NewMessage(parsed.text, silent=parsed.silent, reply_to=parsed.reply_to) if parsed.text else None


def kind_of(mime_type: str) -> MediaKind:
    """Return the kind of an attachment."""
    return _KINDS.get(mime_type.partition("/")[0], MediaKind.FILE)


class ReplyTarget(Struct, frozen=True):
    """The destination of an answer, and the message that it answers.

    Attributes:
        address: The conversation.
        agent_id: The agent that answers.
        session_key: Its session.
        context: The context of the run.
        message_id: The platform's id of the message that is answered.
        footer: A line below it.
    """

    address: Address
    agent_id: str
    session_key: str
    context: Context
    message_id: str | None = None
    footer: str = ""

    def reply_to(self, parsed: ParsedReply) -> str | None:
        """Return the message that an answer replies to: the one it names, else none in a direct conversation."""
        if parsed.reply_to:
            return parsed.reply_to
        here = parsed.reply_to_current or self.address.chat_type is not ChatType.DIRECT
        return self.message_id if here else None


class Replies:
    """Shapes answers and writes them into the outbox.

    Args:
        outbox: Sends them.
        workspaces: Have the files that an answer may attach.
    """

    def __init__(self, outbox: Outbox, workspaces: Workspaces) -> None:
        self._outbox = outbox
        self._workspaces = workspaces

    def insert(self, connection: SqlConnection, result: RunResult, target: ReplyTarget) -> list[str]:
        """Write the rows of an answer in the caller's transaction; none for an answer that is not for people."""
        if result.status == RunStatus.ABORTED:
            return []
        rows = self._rows(connection, result.run_id, target)
        parsed = parse_reply(result.reply)
        text = self._text(result, parsed, rows)
        media: tuple[OutboundMedia, ...] = ()
        blocks = bool(rows) and any(row.source is RowSource.BLOCK for row in rows)
        if text is not None:
            if parsed.media:
                media, lines = self._media(parsed, target)
                text = "\n".join(filter(None, [text, *lines]))
            if text and not blocks:
                text = self.with_prefix(text, result.model, target)
            if result.notices or target.footer:
                text = "\n\n".join(filter(None, [text, *self._notices(result), target.footer]))
        content: list[NewMessage | NewText | Withdrawal] = []
        shown = _preview(rows) if rows else None
        if shown is not None and text:
            content.append(NewText(text, row_id=shown.id, derived=result.tainted))
            text = ""
        elif shown is not None and self._can_delete(target.address):
            content.append(Withdrawal(row_id=shown.id))
        if text or media:
            replying = None if blocks else target.reply_to(parsed)
            made = NewMessage(text or "", media=media, silent=parsed.silent, reply_to=replying, derived=result.tainted)
            content.append(made)
        return [id for each in content for id in self._insert(connection, each, target, result.run_id)]

    def _notices(self, result: RunResult) -> list[str]:
        language = self._outbox.settings.language
        return [notice_text(each, language) for each in result.notices]

    def insert_block(
        self,
        connection: SqlConnection,
        so_far: ParsedReply,
        target: ReplyTarget,
        *,
        run_id: str,
        model: str | None,
        own: Collection[str],
        not_before_ms: int,
    ) -> list[str]:
        """Write the unsent part of an answer's beginning, in the caller's transaction.

        Args:
            so_far: That beginning, see `delivered_so_far`.
            model: The model of the run.
            own: Rows of the run since it began; when there are others, it was begun before a crash.
            not_before_ms: When it is sent at the earliest.
        """
        said = so_far.text or ""
        rows = self._rows(connection, run_id, target)
        blocks = [row for row in rows if row.source is RowSource.BLOCK]
        text = close_fence(rest_of(said, _covered(blocks))).strip()
        earlier = _covered(row for row in blocks if row.id not in own)
        if not text or any(length > len(said) for length, _ in earlier):
            return []
        message = NewMessage(
            text if blocks else self.with_prefix(text, model, target),
            silent=so_far.silent,
            reply_to=None if blocks else target.reply_to(so_far),
            covers=len(said),
            digest=digest(said),
        )
        return self._insert(connection, message, target, run_id, RowSource.BLOCK, not_before_ms)

    def insert_preview(
        self, connection: SqlConnection, so_far: ParsedReply, target: ReplyTarget, run_id: str
    ) -> list[str]:
        """Write the preview message of an answer, once for each run; return its row's id."""
        known = _preview(self._rows(connection, run_id, target))
        if known is not None:
            return [known.id]
        message = NewMessage(so_far.text or "", silent=so_far.silent, reply_to=target.reply_to(so_far))
        return self._insert(connection, message, target, run_id, RowSource.PREVIEW)[:1]

    def _insert(
        self,
        connection: SqlConnection,
        content: Outgoing,
        target: ReplyTarget,
        run_id: str,
        source: RowSource = RowSource.REPLY,
        not_before_ms: int = 0,
    ) -> list[str]:
        return self._outbox.insert(
            connection,
            target.address,
            content,
            caused_by=target.context.id,
            session_key=target.session_key,
            run_id=run_id,
            source=source,
            not_before_ms=not_before_ms,
        )

    def _rows(self, connection: SqlConnection, run_id: str, target: ReplyTarget) -> list[OutboxRow]:
        """Return the rows of a run in the chat that it answers."""
        chat = (target.address.channel, target.address.account, target.address.peer)
        return select_rows(connection, f"run_id = ? AND {OF_CHAT}", (run_id, *chat), ROWS_LIMIT)

    def _text(self, result: RunResult, parsed: ParsedReply, rows: list[OutboxRow]) -> str | None:
        """Return the rest of the text: empty for attachments alone, None for nothing at all."""
        language = self._outbox.settings.language
        left = (rest_of(parsed.text or "", _covered(rows)) if rows else parsed.text or "").strip()
        error = result.error or {}
        nothing = parsed.text == "" and not parsed.media and error.get("code", EMPTY) == EMPTY
        nothing = nothing and all(row.source is RowSource.PREVIEW for row in rows)
        if nothing and (tool := failed_tool(result.messages)):
            return say("reply.tool_failed", language, tool=tool)
        if result.status != RunStatus.OK:
            why = limit_text(error, language) or error.get("message") or result.status
            return "\n\n".join(filter(None, [left, say("run.failed", language, error=why)]))
        if parsed.text is None:
            return None
        if not left or not rows:
            return left
        tools = [row.outgoing for row in rows if row.source is RowSource.TOOL]
        return "" if was_sent(left, [each.text for each in tools if isinstance(each, NewMessage)]) else left

    def _media(self, parsed: ParsedReply, target: ReplyTarget) -> tuple[tuple[OutboundMedia, ...], list[str]]:
        """Return the attachments of an answer, and a line for each missing one."""
        media: list[OutboundMedia] = []
        lines: list[str] = []
        for path in parsed.media:
            found = self.attachment(path, target, voice=parsed.voice)
            if found is None:
                lines.append(say("media.gone", self._outbox.settings.language, name=PurePosixPath(path).name))
            else:
                media.append(found)
        return tuple(media), lines

    def attachment(self, path: str, target: ReplyTarget, *, voice: bool = False) -> OutboundMedia | None:
        """Return a file that the session may read as an attachment, or None if it does not exist.

        Args:
            path: Relative to the agent's workspace, or absolute and in it.
            target: Names agent and session.
            voice: Whether audio is a voice message.
        """
        try:
            root = self._workspaces.view(target.agent_id, target.session_key, target.context.authority)
            relative = PurePosixPath(path)
            if relative.is_absolute() and relative.is_relative_to(root.path.as_posix()):
                relative = relative.relative_to(root.path.as_posix())
            if not root.is_file(relative.as_posix()):
                return None
            place = (target.agent_id, target.session_key, target.context.authority)
            sendable = self._workspaces.sendable(*place, relative.as_posix())
        except (OSError, HubError):
            return None
        mime_type = mimetypes.guess_type(relative.name)[0] or "application/octet-stream"
        kind = kind_of(mime_type)
        return OutboundMedia(kind, str(sendable), mime_type, relative.name, voice=voice and kind is MediaKind.AUDIO)

    def with_prefix(self, text: str, model: str | None, target: ReplyTarget) -> str:
        """Return an answer with the configured prefix."""
        attached = self._outbox.channels.get(target.address.channel, target.address.account)
        own = attached.outbound.response_prefix if attached is not None else None
        prefix = self._outbox.settings.response_prefix if own is None else own
        if not prefix:
            return text
        agent = next((each for each in self._workspaces.agents.all() if each.id == target.agent_id), None)
        facts = {"model": (model or "").rpartition("/")[2], "agent": target.agent_id}
        if agent is not None:
            facts |= {"name": agent.name, "emoji": agent.emoji}
        return with_prefix(text, prefix, facts)

    def _can_delete(self, address: Address) -> bool:
        attached = self._outbox.channels.get(address.channel, address.account)
        return attached is not None and Capability.DELETE in attached.capabilities


def _covered(rows: Iterable[OutboxRow]) -> list[tuple[int, str]]:
    """Return which beginnings of answers were sent as blocks."""
    messages = (row.outgoing for row in rows if isinstance(row.outgoing, NewMessage))
    return [(each.covers, each.digest) for each in messages if each.digest]


def _preview(rows: Iterable[OutboxRow]) -> OutboxRow | None:
    return next((row for row in rows if row.source is RowSource.PREVIEW), None)
