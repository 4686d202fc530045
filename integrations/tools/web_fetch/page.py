"""The readable part of an answer: the article of an HTML page as Markdown, the text of a PDF, other text as it is.

It is called in the process that reads content from outside: a page can be made to take long.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hub.automation.services.web_text import HTML, decode_text, read_page
from integrations.tools.pdf import extract, is_pdf

ARTICLE_CHARS = 250
"""An article with less text is none; the whole page is shown then."""
TITLE_CHARS = 300
TEXT_CHARS = 2_000_000
PDF_PAGES = 100
PDF_CHARS = 500_000
MARKDOWN, TEXT = "markdown", "text"
MODES = (MARKDOWN, TEXT)


class ReadPage(Struct, frozen=True):
    """The readable part of an answer; `form` is its kind: markdown, text, pdf, or empty if there is none."""

    form: str
    text: str = ""
    title: str = ""


def read(body: bytes, headers: Mapping[str, str], url: str, mode: str, text_bytes: int) -> ReadPage:
    """Return the readable part.

    Args:
        headers: The headers, with lower-case names.
        url: Its address; links are made absolute by it.
        mode: Of HTML: `markdown` for its article, `text` for all its words.
        text_bytes: The limit on a text.

    Raises:
        InvalidRequest: It is a damaged or protected PDF.
    """
    if is_pdf(body):
        found = extract(body, "the PDF", 1, PDF_PAGES, PDF_CHARS)
        pages = [f"[page {number} of {found.count}]\n{text}" for number, text in enumerate(found.texts, start=1)]
        return ReadPage("pdf", "\n".join(pages))
    kind, source = decode_text(body[:text_bytes], headers)
    if kind not in HTML:
        return ReadPage(TEXT if source or not body else "", source[:TEXT_CHARS])
    if mode == MARKDOWN and (article := _article(source, url)) is not None:
        return article
    page = read_page(body[:text_bytes], headers)
    return ReadPage(TEXT, page.text[:TEXT_CHARS], page.title)


def _article(source: str, url: str) -> ReadPage | None:
    """Return the article of a page as Markdown; None when there is none, or the packages are not installed."""
    try:
        from markdownify import markdownify
        from readability import Document  # type: ignore[import-untyped]

        document = Document(source, url=url)
        text = markdownify(document.summary(html_partial=True), heading_style="ATX", strip=["img"]).strip()
        title = " ".join(str(document.title()).split()).removeprefix("[no-title]")  # what it says of a page without one
    except Exception:  # packages that are missing, and whatever a hostile page makes of a parser
        return None
    return ReadPage(MARKDOWN, text[:TEXT_CHARS], title[:TITLE_CHARS]) if len(text) >= ARTICLE_CHARS else None
