"""Answers of runs on their way into the outbox: shaped, and without what was sent while they were written."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from pathlib import PurePosixPath

from msgspec import Struct

from hub.agent.run_request import RunResult, RunStatus
from hub.agent.workspace import Workspaces
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.sql import SqlConnection
from hub.messaging.capabilities import CanEdit
from hub.messaging.contract import Address, ChatType, MediaKind, OutboundMedia
from hub.messaging.outgoing import NewMessage, NewText, OutboxRow, RowSource, select_rows
from hub.messaging.reply import ParsedReply, failed_tool, parse_reply, prefixed, rest_of, was_said
from hub.messaging.seams import ReplyOutbox
from hub.messaging.texts import say

ROWS_LIMIT = 500
"""Rows of one run that are looked at for what was sent already."""

_KINDS = {"image": MediaKind.IMAGE, "audio": MediaKind.AUDIO, "video": MediaKind.VIDEO}


def message_of(answer: str) -> NewMessage | None:
    """Return an answer that is sent elsewhere as a message, or None when nothing of it is for people."""
    parsed = parse_reply(answer)
    return NewMessage(parsed.text, silent=parsed.silent, reply_to=parsed.reply_to) if parsed.text else None


def kind_of(mime_type: str) -> MediaKind:
    """Return the kind of an attachment."""
    return _KINDS.get(mime_type.partition("/")[0], MediaKind.FILE)


class ReplyTarget(Struct, frozen=True):
    """Where an answer goes, and what it answers.

    Attributes:
        address: The conversation.
        agent_id: The agent that answers.
        session_key: Its session.
        context: Of the run.
        message_id: The platform's id of the message that is answered.
        footer: A line below it.
    """

    address: Address
    agent_id: str
    session_key: str
    context: Context
    message_id: str | None = None
    footer: str = ""

    @property
    def reply_to(self) -> str | None:
        """The message that an answer replies to unless it says otherwise: none in a direct conversation."""
        return self.message_id if self.address.chat_type is not ChatType.DIRECT else None


class Replies:
    """Shapes answers and writes them into the outbox.

    Args:
        outbox: Sends them.
        workspaces: Where the files are that an answer may attach.
        language: Of what the hub says itself.
    """

    def __init__(self, outbox: ReplyOutbox, workspaces: Workspaces, language: Callable[[], str]) -> None:
        self._outbox = outbox
        self._workspaces = workspaces
        self._language = language

    def insert(self, connection: SqlConnection, result: RunResult, target: ReplyTarget) -> list[str]:
        """Write the rows of an answer inside the caller's transaction; none for an answer that is not for people."""
        if result.status == RunStatus.ABORTED:
            return []
        rows = [
            row
            for row in select_rows(connection, "run_id = ?", (result.run_id,), ROWS_LIMIT)
            if row.chat == (target.address.channel, target.address.account, target.address.peer)
        ]
        parsed = parse_reply(result.reply)
        text = self._text(result, parsed, rows)
        if text is None:
            return []
        media, lines = self._media(parsed, target)
        text = "\n".join(filter(None, [text, *lines]))
        if text and not any(row.source is RowSource.BLOCK for row in rows):
            text = self._prefixed(text, result, target)
        text = "\n\n".join(filter(None, [text, target.footer]))
        reply_to = parsed.reply_to or (target.message_id if parsed.reply_to_current else target.reply_to)
        shown = next((row for row in rows if row.source is RowSource.PREVIEW), None)
        content: list[NewMessage | NewText] = []
        if shown is not None and text and self._can_edit(target.address):
            content.append(NewText(text, row_id=shown.id))
            text = ""
        if text or media:
            content.append(NewMessage(text, media=media, silent=parsed.silent, reply_to=reply_to))
        return [
            id
            for each in content
            for id in self._outbox.insert(
                connection,
                target.address,
                each,
                caused_by=target.context.id,
                session_key=target.session_key,
                run_id=result.run_id,
            )
        ]

    def _text(self, result: RunResult, parsed: ParsedReply, rows: list[OutboxRow]) -> str | None:
        """Return what is left to say: an empty text for attachments alone, None for nothing at all."""
        language = self._language()
        messages = [row.outgoing for row in rows if isinstance(row.outgoing, NewMessage)]
        covered = [(each.covers, each.digest) for each in messages if each.digest]
        left = parse_reply(rest_of(result.reply, covered)).text if covered else parsed.text
        if result.status != RunStatus.OK:
            error = (result.error or {}).get("message") or result.status
            return "\n\n".join(filter(None, [left, say("run.failed", language, error=error)]))
        if parsed.text is None:
            return None
        tools = [row.outgoing for row in rows if row.source is RowSource.TOOL]
        if left and was_said(left, [each.text for each in tools if isinstance(each, NewMessage)]):
            left = ""
        if not parsed.text and not parsed.media and not messages and (tool := failed_tool(result.messages)):
            return say("reply.tool_failed", language, tool=tool)
        return left or ""

    def _media(self, parsed: ParsedReply, target: ReplyTarget) -> tuple[tuple[OutboundMedia, ...], list[str]]:
        """Return the attachments of an answer, and a line for each that there is not."""
        media: list[OutboundMedia] = []
        lines: list[str] = []
        for path in parsed.media:
            found = self.attachment(path, target, voice=parsed.voice)
            if found is None:
                lines.append(say("media.gone", self._language(), name=PurePosixPath(path).name))
            else:
                media.append(found)
        return tuple(media), lines

    def attachment(self, path: str, target: ReplyTarget, *, voice: bool = False) -> OutboundMedia | None:
        """Return a file that the session may read as an attachment, or None when there is no such file.

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
        except (OSError, HubError):
            return None
        mime_type = mimetypes.guess_type(relative.name)[0] or "application/octet-stream"
        kind = kind_of(mime_type)
        return OutboundMedia(
            kind, str(root.path / relative), mime_type, relative.name, voice=voice and kind is MediaKind.AUDIO
        )

    def _prefixed(self, text: str, result: RunResult, target: ReplyTarget) -> str:
        attached = self._outbox.channels.get(target.address.channel, target.address.account)
        own = attached.outbound.response_prefix if attached is not None else None
        prefix = self._outbox.settings.response_prefix if own is None else own
        return prefixed(text, prefix, model=result.model, agent=target.agent_id)

    def _can_edit(self, address: Address) -> bool:
        attached = self._outbox.channels.get(address.channel, address.account)
        return attached is not None and isinstance(attached.channel, CanEdit)
