"""What an e-mail says: its newest words as text, without what it quotes, and its attachments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.message import EmailMessage

from hub.automation.services.web_text import html_to_text
from hub.messaging.contract import Media, MediaKind

TEXT_LIMIT = 100_000
ATTACHMENTS_LIMIT = 20

_QUOTE_BEGINS = re.compile(
    r"^(?:On .{5,200} wrote:|Am .{5,200} schrieb.{0,200}:|Le .{5,200} a écrit\s?:|在.{5,200}写道[:：]"
    r"|-{2,} ?(?:Original Message|Ursprüngliche Nachricht|Forwarded message).{0,80}|_{20,})\s*$",
    re.IGNORECASE,
)
_KINDS = {"image": MediaKind.IMAGE, "audio": MediaKind.AUDIO, "video": MediaKind.VIDEO}


def text_of(mail: EmailMessage) -> str:
    """Return the words that were written now: without the quoted mail below and without the signature's mark."""
    body = mail.get_body(("plain", "html"))
    if body is None:
        return ""
    try:
        content = str(body.get_content())
    except (LookupError, ValueError):
        content = bytes(body.get_payload(decode=True) or b"").decode("utf-8", "replace")
    if body.get_content_type() == "text/html":
        content = html_to_text(content[: 4 * TEXT_LIMIT])
    return _without_quotes(content[:TEXT_LIMIT])


def attachments_of(mail: EmailMessage, reference: str) -> tuple[Media, ...]:
    """Return the attachments; each is fetched by the mail's reference and its number."""
    return tuple(
        Media(
            _KINDS.get(part.get_content_maintype(), MediaKind.FILE),
            f"{reference}:{number}",
            mime_type=part.get_content_type(),
            name=part.get_filename(),
        )
        for number, part in enumerate(parts_of(mail))
    )


def parts_of(mail: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the attached parts, in their order."""
    for number, part in enumerate(mail.iter_attachments()):
        if number >= ATTACHMENTS_LIMIT:
            return
        if isinstance(part, EmailMessage):
            yield part


def _without_quotes(text: str) -> str:
    kept: list[str] = []
    lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        joined = f"{line.strip()} {lines[number + 1].strip()}" if number + 1 < len(lines) else line
        if line == "-- " or _QUOTE_BEGINS.match(line.strip()) or _QUOTE_BEGINS.match(joined):
            break
        if not line.startswith(">"):
            kept.append(line.rstrip())
    return "\n".join(kept).strip()
