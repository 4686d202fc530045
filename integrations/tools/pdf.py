"""The text of a PDF, page by page; it is taken out in the process that reads content from outside."""

from __future__ import annotations

import io

from msgspec import Struct

from hub.core.errors import InvalidRequest

MAGIC = b"%PDF-"
MAGIC_WITHIN = 1_024


class PdfText(Struct):
    """The text of some pages of a PDF, and how many pages it has."""

    count: int
    texts: list[str]


def is_pdf(data: bytes) -> bool:
    """Whether a file is a PDF."""
    return MAGIC in data[:MAGIC_WITHIN]


def extract(data: bytes, path: str, first: int, last: int, room: int) -> PdfText:
    """Return the text of pages, as many as fit into the given characters.

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
