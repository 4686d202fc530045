"""Who wrote an e-mail, as far as the mailbox's own server vouches for it. Pure.

From: can say anything. What counts is the topmost Authentication-Results of our own server (RFC 8601): DMARC passed, or
DKIM or SPF passed for the domain of From.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from email.message import Message
from email.utils import getaddresses

_COMMENT = re.compile(r"\([^()]*\)")
_RESULT = re.compile(r"^(dmarc|dkim|spf)\s*=\s*([a-z]+)", re.IGNORECASE)
_PROPERTY = re.compile(r"\b(header\.d|header\.from|header\.i|smtp\.mailfrom)\s*=\s*\"?([^\s;\"]+)", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s@<>\"(),:;\[\]\\]{1,128}@([a-z0-9.-]{1,253})")
_BULK = frozenset({"bulk", "list", "junk"})


def sender_of(mail: Message) -> str | None:
    """Return the address in From, in lower case; None when there is not exactly one, or it is not a plain one."""
    stated = _raw(mail, "from")
    if len(stated) != 1 or "=?" in stated[0].rpartition("<")[2]:
        return None
    addresses = [address.lower() for _, address in getaddresses(stated)]
    return addresses[0] if len(addresses) == 1 and _ADDRESS.fullmatch(addresses[0]) else None


def is_vouched_for(mail: Message, sender: str, authserv_id: str) -> bool:
    """Whether our own server found that a mail comes from the domain of its sender.

    Args:
        authserv_id: The name by which our server signs what it found; results of others prove nothing.
    """
    domain = sender.rpartition("@")[2]
    results = _raw(mail, "authentication-results")
    ours = [each for each in results if _server(each) == authserv_id.lower()]
    # Our server adds its header at the top; one of the same name below it may have been brought along.
    if not ours or results[0] is not ours[0] or "=?" in ours[0]:
        return False
    return any(_proves(part, domain) for part in _parts(ours[0]))


def is_automatic(mail: Message) -> bool:
    """Whether a program wrote a mail, or it went to a list: answering it would make a loop."""
    submitted = str(mail.get("Auto-Submitted", "no")).split(";")[0].strip().lower()
    return (
        submitted != "no"
        or str(mail.get("Precedence", "")).strip().lower() in _BULK
        or mail.get("List-Id") is not None
        or str(mail.get("Return-Path", "")).strip() == "<>"
    )


def _raw(mail: Message, name: str) -> list[str]:
    """Return the values of a header as they came: encoded words are no part of an address."""
    return [" ".join(str(value).split()) for header, value in mail.raw_items() if header.lower() == name]


def _server(result: str) -> str:
    return _COMMENT.sub("", result).split(";")[0].split()[0].lower() if result.strip(" ;") else ""


def _parts(result: str) -> Iterable[str]:
    return (each.strip() for each in _COMMENT.sub("", " ".join(result.split())).split(";")[1:])


def _proves(part: str, domain: str) -> bool:
    match = _RESULT.match(part)
    if match is None or match[2].lower() != "pass":
        return False
    found = {name.lower(): value.lower().rpartition("@")[2] for name, value in _PROPERTY.findall(part)}
    match match[1].lower():
        case "dmarc":
            return _aligned(found.get("header.from", domain), domain)
        case "dkim":
            return _aligned(found.get("header.d") or found.get("header.i") or "", domain)
        case _:
            return _aligned(found.get("smtp.mailfrom", ""), domain)


def _aligned(proved: str, domain: str) -> bool:
    """Whether a proved domain is the sender's, or one that it is below."""
    return bool(proved) and "." in proved and (proved == domain or domain.endswith(f".{proved}"))
