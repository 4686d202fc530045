"""Which form of transcripts a test is about, and where it finds one that is a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.sessions.transcript_file import TranscriptReading, read_lines
from hub.sessions.transcript_store import TranscriptFiles
from hub.storage.homedir import Home
from tests.databases import rows_of

FILES = pytest.mark.parametrize("form", ["file"], indirect=True)
TABLE = pytest.mark.parametrize("form", ["table"], indirect=True)
BOTH = pytest.mark.parametrize("form", ["file", "table"], indirect=True)


def transcript_file(sessions: SessionStore, session: Session) -> Path:
    """Return the file of a session's transcript."""
    assert isinstance(sessions.transcripts, TranscriptFiles)
    return sessions.transcripts.path(session.agent_id, session.session_id)


def stored_transcript(home: Home, form: str, agent_id: str, session_id: str) -> TranscriptReading:
    """Read a transcript from the disk, as a fresh hub would."""
    if form == "file":
        path = home.sessions(agent_id) / f"{session_id}.jsonl"
        return read_lines(path.read_bytes() if path.exists() else b"")
    rows = rows_of(home.hub_db, "SELECT data FROM transcript WHERE session_id = ? ORDER BY seq", (session_id,))
    return read_lines("".join(f"{row[0]}\n" for row in rows).encode())
