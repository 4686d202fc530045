"""Messages of a Mac: its database with the tables and columns that are read, its files, and an `osascript` that sends.

No Mac was there to compare it with; the schema is as published for macOS 13 and later.
"""

from __future__ import annotations

import sqlite3
import sys
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

from node.backends.contract import Handler
from node.messages_app import APPLE_EPOCH_S, MessagesApp

ADA, EVE = "+4915122222222", "+4915166666666"
GROUP = "iMessage;+;chat123456789"
SCHEMA = """
CREATE TABLE handle (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, service TEXT NOT NULL, country TEXT);
CREATE TABLE chat (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, style INTEGER,
 chat_identifier TEXT, service_name TEXT, room_name TEXT, display_name TEXT);
CREATE TABLE message (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, text TEXT,
 handle_id INTEGER DEFAULT 0, attributedBody BLOB, service TEXT, error INTEGER DEFAULT 0, date INTEGER,
 is_from_me INTEGER DEFAULT 0, is_sent INTEGER DEFAULT 0, cache_has_attachments INTEGER DEFAULT 0,
 item_type INTEGER DEFAULT 0, other_handle INTEGER DEFAULT 0, group_action_type INTEGER DEFAULT 0,
 is_audio_message INTEGER DEFAULT 0, associated_message_guid TEXT, associated_message_type INTEGER DEFAULT 0,
 associated_message_emoji TEXT, thread_originator_guid TEXT);
CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER, message_date INTEGER DEFAULT 0,
 PRIMARY KEY (chat_id, message_id));
CREATE TABLE attachment (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, filename TEXT,
 mime_type TEXT, transfer_name TEXT, total_bytes INTEGER DEFAULT 0, hide_attachment INTEGER DEFAULT 0);
CREATE TABLE message_attachment_join (message_id INTEGER, attachment_id INTEGER, UNIQUE (message_id, attachment_id));
"""
_SCRIPT = """#!{python} -SE
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
folder = Path({folder!r})
chat, person, kind, content = sys.argv[sys.argv.index("--") + 1:]
assert sys.argv[1] == "-e" and content not in sys.argv[2]
with open(folder / "asked", "a") as asked: asked.write(kind + "\\n")
faults = (folder / "faults").read_text().splitlines() if (folder / "faults").exists() else []
fault = faults.pop(0) if faults else "done"
(folder / "faults").write_text("\\n".join(faults))
if fault.startswith("done"):
    import os, sqlite3, time, uuid
    base = sqlite3.connect(folder / "chat.db", timeout=10)
    base.execute("INSERT OR IGNORE INTO chat(guid) VALUES(?)", (chat,))
    text = content if kind == "text" else "\\ufffc"
    if kind == "file": open(content, "rb").read()
    at = base.execute(
        "INSERT INTO message(guid, text, is_from_me, date, cache_has_attachments) VALUES(?, ?, 1, ?, ?)",
        (str(uuid.uuid4()), text, int((time.time() - 978307200) * 1e9), kind == "file")).lastrowid
    base.execute("INSERT INTO chat_message_join(chat_id, message_id) SELECT ROWID, ? FROM chat WHERE guid = ?",
        (at, chat))
    if kind == "file":
        file = base.execute("INSERT INTO attachment(guid, filename, transfer_name) VALUES(?, ?, ?)",
            (str(uuid.uuid4()), content, Path(content).name)).lastrowid
        base.execute("INSERT INTO message_attachment_join VALUES(?, ?)", (at, file))
    base.commit()
if fault not in ("done", "lost"):
    sys.exit("execution error: Messages got an error: " + fault.removeprefix("done "))
"""


class MessagesMac:
    """One Mac.

    Args:
        folder: Its `~/Library/Messages`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        (folder / "Attachments").mkdir()
        self.osascript = folder / "bin" / "osascript"
        self.osascript.parent.mkdir()
        self.osascript.write_text(_SCRIPT.format(python=sys.executable, folder=str(folder), root=str(folder)))
        self.osascript.chmod(0o755)
        self.fetched: list[str] = []
        with closing(sqlite3.connect(folder / "chat.db")) as database:
            database.executescript(SCHEMA)
        self.app = MessagesApp(folder)

    def write(self, sql: str, *given: Any) -> int:
        """Change the database; return the row."""
        with closing(sqlite3.connect(self.folder / "chat.db", timeout=10)) as database, database:
            return database.execute(sql, given).lastrowid or 0

    def rows(self, sql: str, *given: Any) -> list[Any]:
        """Return what the database has."""
        with closing(sqlite3.connect(self.folder / "chat.db", timeout=10)) as database:
            return database.execute(sql, given).fetchall()

    def person(self, who: str, service: str = "iMessage") -> int:
        """Return the row of a person."""
        found = self.rows("SELECT ROWID FROM handle WHERE id = ? AND service = ?", who, service)
        return found[0][0] if found else self.write("INSERT INTO handle(id, service) VALUES(?, ?)", who, service)

    def chat(self, guid: str, name: str = "") -> int:
        """Return the row of a chat."""
        self.write("INSERT OR IGNORE INTO chat(guid, display_name) VALUES(?, ?)", guid, name)
        return int(self.rows("SELECT ROWID FROM chat WHERE guid = ?", guid)[0][0])

    def says(self, text: str | None, who: str = ADA, chat: str | None = None, **more: Any) -> str:
        """Let somebody write; return the guid."""
        guid = more.pop("guid", None) or str(uuid.uuid4())
        place = self.chat(chat or f"iMessage;-;{who}", "Family" if chat == GROUP else "")
        service = (chat or "iMessage").partition(";")[0]
        columns = {
            "guid": guid,
            "text": text,
            "handle_id": self.person(who, service),
            "date": now_ns(),
            **more,
        }
        marks = ", ".join("?" * len(columns))
        with closing(sqlite3.connect(self.folder / "chat.db", timeout=10)) as database, database:
            sql = f"INSERT INTO message({', '.join(columns)}) VALUES({marks})"
            row = database.execute(sql, tuple(columns.values())).lastrowid
            database.execute("INSERT INTO chat_message_join(chat_id, message_id) VALUES(?, ?)", (place, row))
        return guid

    def sends_file(self, name: str, content: bytes, text: str = "\ufffc", **more: Any) -> str:
        """Let somebody send a file; return its guid."""
        path = self.folder / "Attachments" / name
        path.write_bytes(content)
        file = str(uuid.uuid4())
        row = self.write(
            "INSERT INTO attachment(guid, filename, mime_type, transfer_name, total_bytes) VALUES(?, ?, ?, ?, ?)",
            *(file, str(path), "text/plain", name, len(content)),
        )
        guid = self.says(text, cache_has_attachments=1, **more)
        self.write("INSERT INTO message_attachment_join SELECT ROWID, ? FROM message WHERE guid = ?", row, guid)
        return file

    def sent(self, chat: str) -> list[str]:
        """Return the texts that were sent to a chat."""
        sql = (
            "SELECT m.text FROM message m JOIN chat_message_join j ON j.message_id = m.ROWID "
            "JOIN chat c ON c.ROWID = j.chat_id WHERE m.is_from_me AND c.guid = ? ORDER BY m.ROWID"
        )
        return [text for (text,) in self.rows(sql, chat)]

    def asked(self) -> int:
        """Return how often `osascript` was run."""
        file = self.folder / "asked"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def fail(self, *faults: str) -> None:
        """Let the next messages fail: with an error of AppleScript, after they were sent with `done` before it."""
        file = self.folder / "faults"
        before = file.read_text().splitlines() if file.exists() else []
        file.write_text("\n".join([*before, *faults]))

    def handlers(self) -> dict[str, Handler]:
        """Return the commands of its node, which sends by this Mac's `osascript`."""
        found: dict[str, Handler] = {each.command: each.handler for each in self.app.offers()}

        async def send(params: Any) -> dict[str, Any]:
            return await self.app.send(params, str(self.osascript))

        return {**found, "imessage.send": send}


def now_ns() -> int:
    """Return the time as Messages writes it."""
    return int((time.time() - APPLE_EPOCH_S) * 1e9)


def archived(text: str, parent: bytes = b"NSAttributedString") -> bytes:
    """Return a text as `attributedBody` has it."""
    data = text.encode()
    size = bytes([len(data)]) if len(data) < 0x80 else b"\x81" + len(data).to_bytes(2, "little")
    return (
        b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x84\x84\x84"
        + bytes([len(parent)])
        + parent
        + b"\x00\x84\x84\x08NSObject\x00\x85\x92\x84\x84\x84\x08NSString\x01\x94\x84\x01+"
        + size
        + data
        + b"\x86\x84\x02iI\x01\x05\x92\x84\x84\x84\x0cNSDictionary\x00\x94\x84\x01i\x01\x92\x84\x96\x96\x86\x86\x86"
    )
