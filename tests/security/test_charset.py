"""Bytes from outside as text: by the encodings of the web alone."""

from __future__ import annotations

import encodings.aliases

import pytest

from hub.security.charset import decode

WEB = ("utf-8", "windows-1252", "iso-8859-2", "koi8-r", "gbk", "big5", "euc-jp", "shift_jis", "euc-kr", "utf-16le")
NOT_OF_THE_WEB = ("punycode", "idna", "unicode_escape", "raw_unicode_escape", "utf-7", "hz", "utf-32", "cp037", "rot13")


@pytest.mark.parametrize("charset", WEB)
def test_the_encodings_of_the_web_are_read(charset: str) -> None:
    assert decode(b"a\x00" if charset == "utf-16le" else b"a", charset.upper()) == "a"


def test_names_mean_what_they_mean_to_browsers() -> None:
    assert decode(b"\x93x\x94 \x80", "ISO-8859-1") == "\u201cx\u201d \u20ac"
    assert decode("\u4f60\u597d".encode("gb18030"), "'gb2312'") == "\u4f60\u597d"


def test_no_other_codec_is_used() -> None:
    body = b"x" * 10 + b"-" + b"aaaaa" * 60_000 + b"\xff"
    names = [*NOT_OF_THE_WEB, *sorted(set(encodings.aliases.aliases)), "", "nonsense"]

    assert [charset for charset in names if len(decode(body, charset)) < len(body) // 2] == []


@pytest.mark.parametrize("charset", NOT_OF_THE_WEB)
def test_what_is_not_of_the_web_is_read_as_utf_8(charset: str) -> None:
    assert decode(b"x-a\xff", charset) == "x-a\ufffd"
