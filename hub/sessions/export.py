"""A conversation as a document for people or programs: Markdown, HTML, or the lines of its transcript. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape

from hub.models.contract import Role
from hub.sessions.entry import Header, TranscriptEntry, encode_line
from hub.sessions.session import Session

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:45rem;margin:2rem auto;padding:0 1rem}"
    "h2{font-size:.9rem;margin:1.5rem 0 .25rem}p{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}"
)

Export = Callable[[Session, Iterable[TranscriptEntry]], str]


def _as_markdown(session: Session, entries: Iterable[TranscriptEntry]) -> str:
    blocks = [f"# {session.title or session.key}"]
    blocks += [f"## {head}\n\n{text}" for head, text in _said(entries)]
    return "\n\n".join(blocks) + "\n"


def _as_html(session: Session, entries: Iterable[TranscriptEntry]) -> str:
    title = escape(session.title or session.key)
    # Words of others are in it: whatever they hold, the page loads and runs nothing.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    said = "\n".join(f"<h2>{escape(head)}</h2>\n<p>{escape(text)}</p>" for head, text in _said(entries))
    return (
        f'<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n<h1>{title}</h1>\n{said}\n"
    )


def _as_lines(session: Session, entries: Iterable[TranscriptEntry]) -> str:
    stored = [Header(session.session_id, session.key).as_dict(), *(entry.as_dict() for entry in entries)]
    return b"".join(encode_line(each) for each in stored).decode()


def _said(entries: Iterable[TranscriptEntry]) -> Iterator[tuple[str, str]]:
    """Yield speaker, time and words of people's and models' messages."""
    for entry in entries:
        message = entry.message
        if message is not None and message.role is not Role.TOOL and message.text.strip():
            when = datetime.fromtimestamp(entry.ts_ms / 1_000, UTC)
            yield f"{message.role.value}, {when:%Y-%m-%d %H:%M} UTC", message.text.strip()


FORMATS: Mapping[str, Export] = {"md": _as_markdown, "html": _as_html, "jsonl": _as_lines}
"""The forms by the ending of their files; `jsonl` alone holds everything, as it is stored."""
