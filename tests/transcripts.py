"""Where a test finds a transcript of a home that keeps them as files."""

from __future__ import annotations

from pathlib import Path

from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.sessions.transcript_files import TranscriptFiles


def transcript_file(sessions: SessionStore, session: Session) -> Path:
    """Return the file of a session's transcript."""
    assert isinstance(sessions.transcripts, TranscriptFiles)
    return sessions.transcripts.path(session.agent_id, session.session_id)
