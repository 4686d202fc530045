"""Messages of macOS: its database, read only; what it sends, by AppleScript; and the files that it keeps.

The schema is that of `~/Library/Messages/chat.db`; rows are answered in the shape of BlueBubbles, which the hub reads.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
import re
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .backends.contract import Answer, Offer
from .errors import NodeError
from .parameters import Params, number, text
from .programs import run
from .typedstream import text_of

ROWS_LIMIT = 100
ANSWER_BYTES = 150_000
"""As it is on the wire: a hub takes 256 KiB at once."""
TEXT_CHARS = 20_000
FILES_LIMIT = 50
PIECE_BYTES = 98_304
UPLOAD_BYTES = 512 * 1024
FILE_LIMIT_BYTES = 100_000_000
SEND_LIMIT_S = 60.0
SEEN_S, LOOK_S = 5.0, 0.2
"""So long, a message that was sent is looked for in the database, and so often."""
UNSETTLED_S = 20.0
"""So long, a row waits for its chat and its files, which Messages writes after it."""
KEPT_S = 86_400.0
APPLE_EPOCH_S = 978_307_200
GRANT = (
    "System Settings → Privacy & Security → Full Disk Access, and Automation (Messages), "
    "for the program that runs Python"
)
_NOT_SENT = re.compile(r"\((-1743|-1728|-1719|-600)\)\s*$")
"""Not permitted, no such chat or person, Messages does not run: AppleScript stopped before it sent."""
# Chats, people and texts are arguments of the script, never a part of it.
_SEND = """on run argv
set {theChat, thePerson, theKind, theContent} to argv
if theKind is "file" then set theContent to (POSIX file theContent) as alias
tell application "Messages"
if exists chat id theChat then
set theTarget to chat id theChat
else
if thePerson is "" then error "there is no such chat" number -1728
set theTarget to participant thePerson of (first account whose service type is iMessage)
end if
send theContent to theTarget
end tell
end run"""
_ROWS = """SELECT m.ROWID, m.*, h.id AS handle_id_text, h.service AS handle_service, o.id AS other_address,
 c.guid AS chat_guid, c.display_name AS chat_name
FROM message m LEFT JOIN handle h ON h.ROWID = m.handle_id LEFT JOIN handle o ON o.ROWID = m.other_handle
LEFT JOIN chat_message_join j ON j.message_id = m.ROWID LEFT JOIN chat c ON c.ROWID = j.chat_id
WHERE {} GROUP BY m.ROWID ORDER BY m.ROWID LIMIT ?"""
_FILES = """SELECT a.guid, a.mime_type, a.transfer_name, a.total_bytes, a.filename, a.hide_attachment
FROM attachment a JOIN message_attachment_join j ON j.attachment_id = a.ROWID WHERE j.message_id = ? LIMIT ?"""


class MessagesApp:
    """The commands about Messages.

    Args:
        library: `~/Library/Messages`.
        now: Seconds since the epoch.
    """

    def __init__(self, library: Path, now: Callable[[], float] = time.time) -> None:
        self._library = library.expanduser()
        self._files = self._library / "Attachments"
        self._now = now

    def offers(self) -> list[Offer]:
        """Return the commands."""
        return [
            Offer("imessage.read", self.read, permission=GRANT),
            Offer("imessage.chats", self.chats, permission=GRANT),
            Offer("imessage.attachment", self.attachment, permission=GRANT),
            Offer("imessage.upload", self.upload, permission=GRANT),
            Offer("imessage.send", self.send, ("osascript",), permission=GRANT),
        ]

    async def read(self, params: Params) -> Answer:
        """Answer with the messages after a row, oldest first, or of one chat alone; and the newest row of all."""
        return await asyncio.to_thread(self._read, params)

    async def chats(self, params: Params) -> Answer:
        """Answer with the groups whose name holds a text."""
        return await asyncio.to_thread(self._chats, params)

    async def attachment(self, params: Params) -> Answer:
        """Answer with a piece of an attachment."""
        return await asyncio.to_thread(self._piece, params)

    async def upload(self, params: Params) -> Answer:
        """Take a piece of a file that is to be sent; answer with what is there of it."""
        return await asyncio.to_thread(self._put, params)

    async def send(self, params: Params, program: str) -> Answer:
        """Send a text or a file, and answer with the guid that the message has in the database."""
        chat, content, kind = text(params, "chat", limit=500), text(params, "text", "", limit=TEXT_CHARS), "text"
        if params.get("upload") is not None:
            kind, content = "file", str(self._path(params))
            if not await asyncio.to_thread(os.path.isfile, content):
                raise NodeError("NOT_FOUND", "upload: this file was not uploaded")
        elif not content:
            raise NodeError("INVALID_PARAMS", "expected a text, or an upload")
        before = (await self.read({"limit": 1, "after": 2**62}))["newest"]
        person = chat.split(";-;", 1)[1] if ";-;" in chat else ""
        done = await run([program, "-e", _SEND, "--", chat, person, kind, content], timeout_s=SEND_LIMIT_S)
        if done.exit_code is None:
            raise NodeError("TIMEOUT", f"Messages took longer than {SEND_LIMIT_S:g} s")
        if done.exit_code:
            said = done.stderr.decode(errors="replace").strip()[-300:]
            raise NodeError("NOT_SENT" if _NOT_SENT.search(said) else "UNAVAILABLE", f"Messages: {said}")
        return {"message": await self._seen(chat, before, Path(content).name if kind == "file" else content, kind)}

    async def _seen(self, chat: str, before: int, content: str, kind: str) -> Answer | None:
        """Return what was sent, as soon as the database has it; None if it has it not."""
        for _ in range(round(SEEN_S / LOOK_S)):
            for row in (await self.read({"after": before, "chat": chat}))["messages"]:
                names = [each["transferName"] for each in row["attachments"]]
                if row["isFromMe"] and (content in names if kind == "file" else row["text"].strip() == content.strip()):
                    if row["error"]:
                        raise NodeError("NOT_SENT", f"Messages could not send it (code {row['error']})")
                    return dict(row)
            await asyncio.sleep(LOOK_S)
        return None

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        address = f"file:{quote(str(self._library / 'chat.db'))}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=5)) as database:
                database.row_factory = sqlite3.Row
                yield database
        except sqlite3.Error as error:
            raise NodeError(
                "UNAVAILABLE", f"chat.db of Messages cannot be read ({error}): permit it in {GRANT}"
            ) from error

    def _read(self, params: Params) -> Answer:
        after = int(number(params, "after", 0, 0, 2**62))
        most = int(number(params, "limit", ROWS_LIMIT, 1, ROWS_LIMIT))
        chat, since = text(params, "chat", "", limit=500), number(params, "since", 0, 0, 1e11)
        where = "m.ROWID > ?"
        given: list[Any] = [after]
        if chat:  # Messages may know the chat of a person by another service
            where, given = (
                f"{where} AND (c.guid = ? OR substr(c.guid, instr(c.guid, ';-;') + 3) = ? AND instr(c.guid, ';-;'))",
                [*given, chat, _person(chat)],
            )
        if since:
            where, given = f"{where} AND m.date >= ?", [*given, int((since - APPLE_EPOCH_S) * 1e9)]
        found: list[Answer] = []
        room = ANSWER_BYTES
        with self._database() as database:
            newest = database.execute("SELECT max(ROWID) FROM message").fetchone()[0] or 0
            for row in database.execute(_ROWS.format(where), (*given, most)):
                message = self._message(row, database)
                if message is None:
                    break
                room -= len(json.dumps(json.dumps(message, ensure_ascii=False)))
                if found and room < 0:
                    break
                found.append(message)
        return {"messages": found, "newest": newest}

    def _message(self, row: sqlite3.Row, database: sqlite3.Connection) -> Answer | None:
        """Return a row as BlueBubbles has it; None if Messages is still writing it."""
        known = {name: row[name] for name in row.keys()}  # noqa: SIM118  a Row iterates over its values
        files = (
            [] if not known.get("cache_has_attachments") else database.execute(_FILES, (row[0], FILES_LIMIT)).fetchall()
        )
        sent_s = _seconds(known.get("date"))
        is_whole = known["chat_guid"] and (
            not known.get("cache_has_attachments") or known["is_from_me"] or (files and all(map(self._is_there, files)))
        )
        if not is_whole and 0 <= self._now() - sent_s < UNSETTLED_S:
            return None
        body = known.get("attributedBody")
        said = known.get("text") or (text_of(bytes(body)) if isinstance(body, bytes) else None) or ""
        address = known["handle_id_text"]
        return {
            "originalROWID": row[0],
            "guid": str(known["guid"]),
            "text": str(said)[:TEXT_CHARS],
            "handle": {"address": address, "service": known["handle_service"]} if address else None,
            "isFromMe": bool(known["is_from_me"]),
            "dateCreated": int(sent_s * 1000),
            "chats": [{"guid": known["chat_guid"], "displayName": known["chat_name"]}] if known["chat_guid"] else [],
            "attachments": [_attachment(each) for each in files],
            "itemType": known.get("item_type") or 0,
            "groupActionType": known.get("group_action_type") or 0,
            "otherHandleAddress": known["other_address"],
            "associatedMessageGuid": known.get("associated_message_guid"),
            "associatedMessageType": known.get("associated_message_type") or None,
            "associatedMessageEmoji": known.get("associated_message_emoji"),
            "threadOriginatorGuid": known.get("thread_originator_guid"),
            "isAudioMessage": bool(known.get("is_audio_message")),
            "error": known.get("error") or 0,
        }

    def _is_there(self, file: sqlite3.Row) -> bool:
        return bool(file["filename"]) and Path(file["filename"]).expanduser().exists()

    def _chats(self, params: Params) -> Answer:
        wanted = text(params, "query", "", limit=200).casefold()
        most = int(number(params, "limit", ROWS_LIMIT, 1, ROWS_LIMIT))
        with self._database() as database:
            named = database.execute("SELECT guid, display_name FROM chat WHERE display_name != ''").fetchall()
        found = [{"guid": guid, "displayName": name} for guid, name in named if wanted in str(name).casefold()]
        return {"chats": found[:most]}

    def _piece(self, params: Params) -> Answer:
        guid, offset = text(params, "guid", limit=200), int(number(params, "offset", 0, 0, 2**40))
        with self._database() as database:
            row = database.execute("SELECT filename FROM attachment WHERE guid = ?", (guid,)).fetchone()
        if row is None or not row[0]:
            raise NodeError("NOT_FOUND", "there is no such attachment, or Messages has not loaded it")
        try:
            path = Path(str(row[0])).expanduser().resolve()
            if not path.is_relative_to(self._files.resolve()):
                raise NodeError("PATH_NOT_ALLOWED", "this attachment is not among the files of Messages")
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                facts = os.fstat(file.fileno())
                if not stat.S_ISREG(facts.st_mode):
                    raise NodeError("PATH_NOT_ALLOWED", "this attachment is not a file")
                file.seek(offset)
                data = file.read(PIECE_BYTES)
        except (OSError, ValueError, RuntimeError) as error:
            raise NodeError("NOT_FOUND", f"the attachment cannot be read: {type(error).__name__}") from error
        return {
            "base64": base64.b64encode(data).decode(),
            "size": facts.st_size,
            "end": offset + len(data) >= facts.st_size,
        }

    def _path(self, params: Params) -> Path:
        """Return where an upload is: Messages may not read a file everywhere, on a newer macOS."""
        id, name = text(params, "upload", limit=64), text(params, "name", "file", limit=200)
        if not re.fullmatch("[0-9A-Za-z_-]{8,64}", id):
            raise NodeError("INVALID_PARAMS", "upload: expected 8 to 64 letters and digits")
        return self._files / "Homarus" / id / (re.sub(r"[\x00-\x1f/:\\]", "_", name).lstrip(".") or "file")

    def _put(self, params: Params) -> Answer:
        path, offset = self._path(params), int(number(params, "offset", 0, 0, FILE_LIMIT_BYTES))
        try:
            data = base64.b64decode(text(params, "contentBase64", limit=UPLOAD_BYTES * 4 // 3 + 4), validate=True)
        except binascii.Error as error:
            raise NodeError("INVALID_PARAMS", "contentBase64: expected base64") from error
        if offset + len(data) > FILE_LIMIT_BYTES:
            raise NodeError("FILE_TOO_LARGE", f"a file has at most {FILE_LIMIT_BYTES} bytes")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in path.parent.parent.iterdir():  # Messages has taken its copy since
            if self._now() - old.stat().st_mtime > KEPT_S:
                shutil.rmtree(old, ignore_errors=True)
        with open(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600), "wb" if offset == 0 else "r+b"
        ) as file:
            if os.fstat(file.fileno()).st_size < offset:
                raise NodeError("INVALID_PARAMS", "offset: a piece before this one is missing")
            file.truncate(offset)
            file.seek(offset)
            file.write(data)
        return {"size": offset + len(data)}


def _person(chat: str) -> str:
    return chat.split(";-;", 1)[1] if ";-;" in chat else "\x00"


def _seconds(date: Any) -> float:
    """Return the time of a row: nanoseconds since 2001, and seconds on an old macOS."""
    since = date if isinstance(date, int) else 0
    return APPLE_EPOCH_S + (since / 1e9 if since > 1e11 else since)


def _attachment(file: sqlite3.Row) -> Answer:
    return {
        "guid": str(file["guid"]),
        "mimeType": file["mime_type"],
        "transferName": file["transfer_name"],
        "totalBytes": file["total_bytes"],
        "hideAttachment": bool(file["hide_attachment"]),
    }
