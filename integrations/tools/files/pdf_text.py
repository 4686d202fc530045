"""Pages of a PDF as the tool `read` shows them."""

from __future__ import annotations

import re

from hub.core.errors import InvalidRequest
from hub.security.outside_reader import OutsideReader
from hub.tools.contract import ToolResult
from integrations.tools.files.reading import CHARACTERS_LIMIT
from integrations.tools.pdf import PdfText, extract

PDF_LIMIT_BYTES = 32 * 1024 * 1024
PAGES_LIMIT = 20
"""In one call."""

_PAGES = re.compile(r"([1-9]\d{0,5})(?:-([1-9]\d{0,5})?)?")


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
