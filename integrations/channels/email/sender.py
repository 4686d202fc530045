"""The sender of an e-mail, as far as the mailbox's own server vouches for it. Pure.

From: can say anything. What counts is that the topmost Authentication-Results of our own server (RFC 8601) says that
DMARC passed for the domain of From. What it quotes of a mail, such as the address of a bounce, is whatever a stranger
likes: the header is read by its grammar, and what does not fit refuses the mail.
"""

from __future__ import annotations

import re

from msgspec import Struct

from integrations.channels.email.head import HeaderText, MailHead, NotGrammatical

_HEADER = "authentication-results"
_KEYWORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?")
_DIGITS = re.compile(r"[0-9]+")
_VALUE = re.compile(r"[^\s;()\"\\,\x00-\x1f\x7f-\U0010ffff]+")
_PLAIN = re.compile(r"[ -~\t]*")
_BULK = frozenset({"bulk", "list", "junk"})


class MethodResult(Struct, frozen=True):
    """The result of one method of a server: `dmarc`, `pass`, and the properties in lower case."""

    method: str
    result: str
    properties: dict[str, str]


class ServerResults(Struct, frozen=True):
    """The results of one server, and its name."""

    server: str
    found: tuple[MethodResult, ...]

    def of(self, method: str) -> list[MethodResult]:
        """Return the result of a method."""
        return [each for each in self.found if each.method == method]


def is_vouched_for(head: MailHead, sender: str, authserv_id: str) -> bool:
    """Whether our own server found that a mail comes from the domain of its sender.

    Args:
        authserv_id: The name under which our server signs its results; results of others prove nothing.
    """
    # Our server adds its header at the top; one of the same name below it may have been brought along.
    top, *others = [results_of(each) for each in head.all(_HEADER)] or [None]
    if top is None or top.server != authserv_id.lower():
        return False
    ours = [top, *(each for each in others if each is not None and each.server == top.server)]
    verdicts = [each.result for results in ours for each in results.of("dmarc")]
    if len(top.of("dmarc")) != 1 or "fail" in verdicts:
        return False  # servers write other methods several times; a second verdict was brought along
    (dmarc,) = top.of("dmarc")
    return dmarc.result == "pass" and dmarc.properties.get("header.from") == sender.rpartition("@")[2]


def results_of(text: str) -> ServerResults | None:
    """Parse an Authentication-Results header; None if it does not conform to RFC 8601."""
    words = HeaderText(text)
    try:
        if not _PLAIN.fullmatch(text):
            raise NotGrammatical("a character is not ASCII")
        words.gap()
        server = _value(words)
        if words.gap() and not words.at_end and not words.sees(";"):
            words.take(_DIGITS)
            words.gap()
        return ServerResults(server.lower(), tuple(_results(words)))
    except NotGrammatical:
        return None


def is_automatic(head: MailHead) -> bool:
    """Whether a program wrote a mail, or it went to a list: answering it would make a loop."""
    submitted = head.first("auto-submitted").split(";")[0].strip().lower()
    return (
        submitted not in ("", "no")
        or head.first("precedence").lower() in _BULK
        or bool(head.all("list-id"))
        or head.first("return-path") == "<>"
    )


def _results(words: HeaderText) -> list[MethodResult]:
    found: list[MethodResult] = []
    while words.passes(";"):
        words.gap()
        if words.at_end and found:
            break  # some servers put one more behind the last result
        method = words.take(_KEYWORD).lower()
        words.gap()
        if method == "none" and words.at_end and not found:
            break
        if words.passes("/"):
            words.gap()
            words.take(_DIGITS)
            words.gap()
        _must(words, "=")
        result = words.take(_KEYWORD).lower()
        found.append(MethodResult(method, result, _properties(words)))
    if not words.at_end:
        raise NotGrammatical("text follows the results")
    return found


def _properties(words: HeaderText) -> dict[str, str]:
    found: dict[str, str] = {}
    while words.gap() and not words.at_end and not words.sees(";"):
        name = words.take(_KEYWORD).lower()
        words.gap()
        if name != "reason":
            _must(words, ".")
            name = f"{name}.{words.take(_KEYWORD).lower()}"
            words.gap()
        _must(words, "=")
        if name in found:
            raise NotGrammatical(f"{name} comes twice")
        found[name] = _value(words).lower()
    return found


def _value(words: HeaderText) -> str:
    if not words.sees('"'):
        return words.take(_VALUE)
    said = words.quoted_string()
    return f"{said}{words.take(_VALUE)}" if words.sees("@") else said


def _must(words: HeaderText, sign: str) -> None:
    if not words.passes(sign):
        raise NotGrammatical(f"expected {sign}")
    words.gap()
