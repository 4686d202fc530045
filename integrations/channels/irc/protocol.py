"""Lines of IRC: reading them, and making ones that can say nothing but what they should. Pure.

Formats: modern.ircdocs.horse, and ircv3.net for tags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

LINE_BYTES = 400
"""The longest line that is written. A server cuts at 512 bytes, with the sender's prefix that it puts before."""
_UNSAFE = re.compile(r"[\r\n\x00\x01]+")
_TARGET = re.compile(r"[^\s,:\x00-\x20][^\s,\x00-\x20]{0,199}")
_FOLD = str.maketrans("[]\\~", "{}|^")
_ESCAPES = {"\\:": ";", "\\s": " ", "\\\\": "\\", "\\r": "\r", "\\n": "\n"}


class IrcLine(Struct, frozen=True):
    """A line as it was received.

    Attributes:
        command: In upper case, or three digits.
        parameters: The last one may have spaces.
        source: `nick!user@host`, or the server's name.
        tags: IRCv3 tags, unescaped.
    """

    command: str
    parameters: tuple[str, ...] = ()
    source: str = ""
    tags: Mapping[str, str] = {}

    @property
    def nick(self) -> str:
        """The nick of whoever caused it."""
        return self.source.partition("!")[0]

    def parameter(self, index: int) -> str:
        """Return a parameter, or nothing where there is none."""
        return self.parameters[index] if index < len(self.parameters) else ""


def parse(line: str) -> IrcLine:
    """Parse a line; an invalid one has an empty command."""
    tags: dict[str, str] = {}
    rest = line.strip("\r\n")
    if rest.startswith("@"):
        stated, _, rest = rest[1:].partition(" ")
        for each in stated.split(";"):
            key, _, value = each.partition("=")
            tags[key] = re.sub(r"\\(.?)", lambda found: _ESCAPES.get(found[0], found[1]), value)
    source = ""
    rest = rest.lstrip(" ")
    if rest.startswith(":"):
        source, _, rest = rest[1:].partition(" ")
    head, has_last, last = f" {rest}".partition(" :")
    words = head.split()
    parameters = (*words[1:], last) if has_last else tuple(words[1:])
    return IrcLine(words[0].upper() if words else "", parameters, source, tags)


def fold(name: str) -> str:
    """Return a nick or channel as the server compares it (rfc1459)."""
    return name.lower().translate(_FOLD)


def is_target(name: str) -> bool:
    """Whether a line may be addressed to this, and only to this."""
    return _TARGET.fullmatch(name) is not None


def safe(text: str) -> str:
    """Return text that stays within its line, and is not a CTCP."""
    return _UNSAFE.sub(" ", text)


def lines_of(text: str, target: str, prefix: str) -> list[str]:
    """Return the lines that say `text`, cut between words so that nobody's server cuts them.

    Args:
        text: May have several lines; empty ones are left out.
        target: A nick or channel.
        prefix: `nick!user@host` as others see the writer.
    """
    room = LINE_BYTES - len(f":{prefix} PRIVMSG {target} :".encode())
    found = []
    for line in text.replace("\r", "\n").split("\n"):
        rest = safe(line).strip()
        while rest:
            piece, rest = _cut(rest, max(room, 64))
            found.append(f"PRIVMSG {target} :{piece}")
    return found


def mentions(text: str, nick: str) -> bool:
    """Whether a nick is in a text as a word."""
    edge = r"[\w\[\]\\`^{}|-]"
    return re.search(rf"(?<!{edge}){re.escape(fold(nick))}(?!{edge})", fold(text)) is not None


def _cut(text: str, room: int) -> tuple[str, str]:
    if len(text.encode()) <= room:
        return text, ""
    fitting = text.encode()[:room].decode(errors="ignore")
    space = fitting.rfind(" ")
    end = space if space > len(fitting) // 2 else len(fitting)
    return text[:end], text[end:].lstrip()
