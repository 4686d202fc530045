"""The content of an e-mail: its newest words as text, without quotations, and its attachments. Pure.

A mail can be made to take minutes: all of this is called in a separate process (`hub.security.outside_reader`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser

from msgspec import Struct

from hub.automation.services.web_text import html_to_text
from hub.core.errors import InvalidRequest, NotFound
from hub.messaging.contract import Media, MediaKind
from hub.security.charset import decode

TEXT_LIMIT = 100_000
BODY_LIMIT_BYTES = 1_000_000
PARTS_LIMIT = 100
ATTACHMENTS_LIMIT = 20
HEAD_CHARS = 500
HEADS = ("From", "To", "Cc", "Date", "Subject")

_QUOTE_BEGINS = re.compile(
    r"^(?:On .{5,200} wrote:|Am .{5,200} schrieb.{0,200}:|Le .{5,200} a écrit\s?:|在.{5,200}写道[:：]"
    r"|-{2,} ?(?:Original Message|Ursprüngliche Nachricht|Forwarded message).{0,80}|_{20,})\s*$",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(rb"boundary\*?(?:0\*?)?\s*=\s*\"?([^\";\s]{1,200})", re.IGNORECASE)
_KINDS = {"image": MediaKind.IMAGE, "audio": MediaKind.AUDIO, "video": MediaKind.VIDEO}


class ReadMail(Struct, frozen=True):
    """A mail as it is read: its subject in one line, its newest words, its attachments, and heads by name."""

    subject: str
    text: str
    media: tuple[Media, ...] = ()
    heads: dict[str, str] = {}


def read_mail(raw: bytes, reference: str) -> ReadMail:
    """Read a mail; each attachment is fetched by the mail's reference and its number.

    Raises:
        InvalidRequest: It has too many parts.
    """
    mail = _parsed(raw)
    heads = {name: said for name in HEADS if (said := _one_line(mail, name))}
    return ReadMail(_one_line(mail, "Subject"), text_of(mail), attachments_of(mail, reference), heads)


def read_attachment(raw: bytes, number: int) -> bytes:
    """Return the bytes of an attachment.

    Raises:
        NotFound: There is none of that number.
        InvalidRequest: The mail has too many parts.
    """
    part = next((each for at, each in enumerate(parts_of(_parsed(raw))) if at == number), None)
    if part is None:
        raise NotFound("the mail is gone, or has no such attachment")
    return bytes(part.get_payload(decode=True) or b"")


def read_lines(heads: list[bytes]) -> list[str]:
    """Return one line for each head: when, from whom, about what."""
    mails = [_parsed(each) for each in heads]
    return [" · ".join(_one_line(mail, name) for name in ("Date", "From", "Subject")) for mail in mails]


def _parsed(raw: bytes) -> EmailMessage:
    """Return a mail as it came; its parts are counted by its bytes, before anything is made of them.

    Raises:
        InvalidRequest: It has too many parts.
    """
    signs = {b"--" + each for each in _BOUNDARY.findall(raw)}
    if signs and sum(line.rstrip() in signs for line in raw.split(b"\n") if line.startswith(b"--")) > PARTS_LIMIT:
        raise InvalidRequest(f"the e-mail has more than {PARTS_LIMIT} parts")
    return BytesParser(EmailMessage, policy=policy.default).parsebytes(raw)


def _one_line(mail: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(mail.get(name, "")).split())[:HEAD_CHARS]
    except (ValueError, LookupError, AttributeError, TypeError):  # strangers write heads that the parser fails on
        return "(cannot be read)"


def text_of(mail: EmailMessage) -> str:
    """Return the words that were written now: without the quoted mail below and without the signature's mark."""
    body = mail.get_body(("plain", "html"))
    if body is None:
        return ""
    charset = str(body.get_param("charset", ""))
    content = decode(bytes(body.get_payload(decode=True) or b"")[:BODY_LIMIT_BYTES], charset)
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
