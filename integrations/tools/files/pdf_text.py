"""The text of a PDF, page by page; it is taken out in the process that reads content from outside."""

from __future__ import annotations

import io
import re

from msgspec import Struct

from hub.core.errors import InvalidRequest
from hub.security.outside_reader import OutsideReader
from hub.tools.contract import ToolResult
from integrations.tools.files.reading import CHARACTERS_LIMIT

PDF_LIMIT_BYTES = 32 * 1024 * 1024
PAGES_LIMIT = 20
"""In one call."""
MAGIC = b"%PDF-"
MAGIC_WITHIN = 1_024

_PAGES = re.compile(r"([1-9]\d{0,5})(?:-([1-9]\d{0,5})?)?")


class PdfText(Struct):
    """The text of some pages of a PDF, and how many pages it has."""

    count: int
    texts: list[str]


def is_pdf(data: bytes) -> bool:
    """Whether a file is a PDF."""
    return MAGIC in data[:MAGIC_WITHIN]


async def show_pdf(reader: OutsideReader, data: bytes, path: str, pages: str | None) -> ToolResult:
    """Return the text of pages of a PDF.

    Args:
        pages: `3`, `2-5` or `4-`; from the first one without it.

    Raises:
        InvalidRequest: There are no such pages, or the file is damaged, or protected by a password.
        TimedOut: Reading it takes too long.
    """
    first, last = _range(pages)
    found = await reader.read(path, extract, data, path, first, last, CHARACTERS_LIMIT, returns=PdfText)
    last = first + len(found.texts) - 1
    shown = [
        f"[page {number} of {found.count}]\n{text or '[no text on this page; it may be a picture]'}"
        for number, text in enumerate(found.texts, start=first)
    ]
    if last < found.count:
        shown.append(f'[pages {first}-{last} of {found.count}; go on with pages="{last + 1}-"]')
    details = {"path": path, "first_page": first, "last_page": last, "pages": found.count, "size_bytes": len(data)}
    return ToolResult("\n".join(shown), details=details)


def extract(data: bytes, path: str, first: int, last: int, room: int) -> PdfText:
    """Return the text of pages, as many as there is room for characters.

    Raises:
        InvalidRequest: There are no such pages, or the file is damaged, or protected by a password.
    """
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError, PyPdfError

    texts: list[str] = []
    try:
        pages = PdfReader(io.BytesIO(data)).pages
        count = len(pages)
        if first > count:
            raise InvalidRequest(f"{path} has {count} pages; there is no page {first}")
        for number in range(first, min(last, count) + 1):
            text = pages[number - 1].extract_text().encode("utf-8", "replace").decode().strip()
            if texts and len(text) > room:
                break
            texts.append(text if len(text) <= room else f"{text[:room]}\n[cut: the page has {len(text)} characters]")
            room -= len(text)
    except FileNotDecryptedError as error:
        raise InvalidRequest(f"{path} is protected by a password") from error
    except PyPdfError as error:
        raise InvalidRequest(f"{path} cannot be read as a PDF ({type(error).__name__})") from error
    return PdfText(count, texts)


def _range(pages: str | None) -> tuple[int, int]:
    if pages is None:
        return 1, PAGES_LIMIT
    match = _PAGES.fullmatch(pages.replace(" ", ""))
    if match is None:
        raise InvalidRequest(f"pages is {pages!r}; expected for example 3, 2-5 or 4-")
    first = int(match[1])
    last = int(match[2]) if match[2] else first if "-" not in pages else first + PAGES_LIMIT - 1
    if last < first:
        raise InvalidRequest(f"pages is {pages!r}; the last page comes before the first")
    return first, min(last, first + PAGES_LIMIT - 1)
