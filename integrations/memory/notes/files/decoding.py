"""Decodes files of any origin: UTF-8, or the likeliest of GBK, UTF-16 and Latin-1. Pure."""

from __future__ import annotations

import codecs
import re

DETECTED_BYTES = 65_536
"""Of a file that is not UTF-8, so much is looked at to find out what it is."""
NOT_TEXT_SHARE = 0.01
"""Of the characters of a text that may be unreadable before it is not text."""
_LIKELY = ("gb18030", "big5", "utf_16_le", "utf_16_be", "cp1252", "shift_jis", "euc_kr", "cp1251")
_CHINESE = (("gb2312", "gb18030", b"\xa1\xa3", range(0xB0, 0xD8)), ("big5", "big5", b"\xa1\xa2\xa3", range(0xA4, 0xC7)))
"""How Chinese is read and what it then is, and the first bytes of its marks and of its common characters."""
_HANGUL_LAST = 0xC8
"""Korean begins no common character with a higher byte, and has the lower ones in common with Chinese."""
_BLANK_BETWEEN = re.compile(rb"[\x80-\xff] [\x80-\xff]")
_NEIGHBOURS = re.compile(rb"[\x80-\xff]{2}")
"""Letters with accents seldom follow each other."""
_COMMON_SHARE = 0.9
_CHINESE_SHARE = 1 / 3
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decode_text(data: bytes) -> str:
    """Return the text of a file; undecodable bytes become U+FFFD."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if is_text(text):
        return text
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    encoding = marked or _chinese(data[:DETECTED_BYTES]) or _western(data) or _detected(data)
    if encoding is None:
        return text
    other = data.decode(encoding, "replace")
    return other if is_text(other) else text


def is_text(text: str) -> bool:
    """Whether nearly all of a text was decoded."""
    return text.count("\ufffd") + text.count("\0") <= NOT_TEXT_SHARE * len(text)


def _chinese(data: bytes) -> str | None:
    """Return the encoding in which bytes are common Chinese; frequencies alone misjudge short notes."""
    for reads, encoding, marks, common in _CHINESE:
        wide = [each.encode(reads) for each in data.decode(reads, "ignore") if each > "\x7f"]
        narrow = sum(each < 0x80 for each in data)
        is_whole = narrow + 2 * len(wide) >= _COMMON_SHARE * len(data)  # Big5's second bytes count twice, at most
        is_common = sum(each[0] in common or each[0] in marks for each in wide) >= _COMMON_SHARE * len(wide)
        if len(wide) < 2 or 2 * len(wide) < _CHINESE_SHARE * len(data) or not (is_whole and is_common):
            continue
        if any(each[1] < 0x7F for each in wide) if encoding == "big5" else not _may_be_korean(data, wide):
            return encoding
    return None


def _may_be_korean(data: bytes, wide: list[bytes]) -> bool:
    """Whether all lead bytes are valid in Korean too, and blanks separate the words."""
    return all(each[0] <= _HANGUL_LAST for each in wide) and _BLANK_BETWEEN.search(data) is not None


def _western(data: bytes) -> str | None:
    return None if b"\0" in data or _NEIGHBOURS.search(data) is not None else "cp1252"


def _detected(data: bytes) -> str | None:
    from charset_normalizer import from_bytes  # takes a while, and most homes never need it

    found = from_bytes(data[:DETECTED_BYTES], cp_isolation=list(_LIKELY)).best()
    return None if found is None else found.encoding
