"""Text of files that come from anywhere: UTF-8, or what it is most likely in (GBK, UTF-16, Latin-1). Pure."""

from __future__ import annotations

import codecs

DETECTED_BYTES = 65_536
"""Of a file that is no UTF-8, so much is looked at to find out what it is."""
NOT_TEXT_SHARE = 0.01
"""Of the characters of a text that may be unreadable before it is no text."""
_LIKELY = ("gb18030", "big5", "utf_16_le", "utf_16_be", "cp1252", "shift_jis", "euc_kr", "cp1251")
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decoded(data: bytes) -> str:
    """Return the text of a file; what cannot be read in any way as U+FFFD."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if is_text(text):
        return text
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None) or _detected(data)
    if encoding is None:
        return text
    other = data.decode(encoding, "replace")
    return other if is_text(other) else text


def is_text(text: str) -> bool:
    """Whether nearly all of a text could be read."""
    return text.count("\ufffd") + text.count("\0") <= NOT_TEXT_SHARE * len(text)


def _detected(data: bytes) -> str | None:
    from charset_normalizer import from_bytes  # takes a while, and most homes never need it

    found = from_bytes(data[:DETECTED_BYTES], cp_isolation=list(_LIKELY)).best()
    return None if found is None else found.encoding
