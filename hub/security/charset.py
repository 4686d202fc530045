"""Decodes bytes from outside by the web's encodings alone, never by arbitrary Python codecs.

Some codecs take minutes for a page (`punycode` the square of its length), others are not encodings of text at all.
"""

from __future__ import annotations

_LATIN1 = (
    "ascii",
    "us-ascii",
    "latin1",
    "latin-1",
    "l1",
    "iso-8859-1",
    "iso8859-1",
    "iso_8859-1",
    "windows-1252",
    "cp1252",
)
_CODECS = {
    **dict.fromkeys(("utf-8", "utf8", "unicode-1-1-utf-8"), "utf-8"),
    **dict.fromkeys(_LATIN1, "cp1252"),
    **dict.fromkeys(("utf-16", "utf-16le"), "utf-16-le"),
    "utf-16be": "utf-16-be",
    **{f"iso-8859-{part}": f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **dict.fromkeys(("iso-8859-9", "latin5", "windows-1254", "cp1254"), "cp1254"),
    **dict.fromkeys(("iso-8859-11", "tis-620", "windows-874"), "cp874"),
    **{
        f"{prefix}{page}": f"cp{page}"
        for prefix in ("windows-", "cp")
        for page in (1250, 1251, 1253, 1255, 1256, 1257, 1258)
    },
    **dict.fromkeys(("ibm866", "cp866"), "cp866"),
    **dict.fromkeys(("koi8-r", "koi8"), "koi8-r"),
    "koi8-u": "koi8-u",
    **dict.fromkeys(("macintosh", "x-mac-roman"), "mac-roman"),
    "x-mac-cyrillic": "mac-cyrillic",
    **dict.fromkeys(("gb2312", "gbk", "x-gbk", "gb18030"), "gb18030"),
    **dict.fromkeys(("big5", "big5-hkscs"), "big5hkscs"),
    **dict.fromkeys(("euc-jp", "x-euc-jp"), "euc-jp"),
    "iso-2022-jp": "iso2022-jp",
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "windows-949"), "cp949"),
}
"""The encodings of the WHATWG with the names that pages use, and Python's codec of each."""


def decode(body: bytes, charset: str = "") -> str:
    """Return bytes as text; unknown encodings are read as UTF-8, and invalid bytes become U+FFFD."""
    return body.decode(_CODECS.get(charset.strip(" \"'\t").lower(), "utf-8"), "replace")
