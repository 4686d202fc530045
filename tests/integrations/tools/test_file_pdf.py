"""PDF files are read as text, page by page, in a process that they cannot do harm in."""

from __future__ import annotations

import io
import zlib
from collections.abc import AsyncIterator

import pytest

from integrations.tools import files
from integrations.tools.files.pdf_text import PAGES_LIMIT
from tests.integrations.tools.standing import Standing

pypdf = pytest.importorskip("pypdf")


@pytest.fixture
async def place(standing: Standing) -> AsyncIterator[Standing]:
    await standing.set_up(files)
    standing.workspaces.ensure("main")
    yield standing
    await standing.egress.reader.close()


def pdf(*pages: str, filtered: bytes | None = None) -> bytes:
    """Return a PDF with a line of text on each page; `filtered` is the compressed content of all of them."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        content = filtered or f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode()
        how = b" /Filter /FlateDecode" if filtered else b""
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(content), how, content))
    out = b"%PDF-1.4\n"
    places = []
    for number, each in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % at for at in places)
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (len(objects) + 1, table, trailer)


async def read(place: Standing, data: bytes, pages: str | None = None) -> tuple[bool, str]:
    (place.workspace / "a.pdf").write_bytes(data)
    result = await place.call("read", {"path": "a.pdf"} | ({} if pages is None else {"pages": pages}))
    return result.is_error, result.output


async def test_a_pdf_is_read_page_by_page(place: Standing) -> None:
    three = pdf("Sow carrots", "", "Harvest")

    assert await read(place, three) == (
        False,
        "[page 1 of 3]\nSow carrots\n"
        "[page 2 of 3]\n[no text on this page; it may be a picture]\n"
        "[page 3 of 3]\nHarvest",
    )
    assert (await read(place, three, "3"))[1] == "[page 3 of 3]\nHarvest"
    assert (await read(place, three, "2-9"))[1].endswith("[page 3 of 3]\nHarvest")
    assert (await read(place, three, "1"))[1] == '[page 1 of 3]\nSow carrots\n[pages 1-1 of 3; go on with pages="2-"]'


async def test_a_long_pdf_is_read_in_parts(place: Standing) -> None:
    _, shown = await read(place, pdf(*(f"page {number}" for number in range(PAGES_LIMIT + 5))))
    _, long = await read(place, pdf("x" * 20_000, "y" * 20_000))

    assert shown.endswith(f'[pages 1-{PAGES_LIMIT} of {PAGES_LIMIT + 5}; go on with pages="{PAGES_LIMIT + 1}-"]')
    assert long.endswith('[pages 1-1 of 2; go on with pages="2-"]')


async def test_pages_that_are_not_there_are_named(place: Standing) -> None:
    assert "has 1 pages; there is no page 4" in (await read(place, pdf("one"), "4"))[1]
    for pages, words in (("x", "expected for example"), ("3-2", "before"), ("0", "expected"), ("9" * 9, "expected")):
        is_error, output = await read(place, pdf("one"), pages)
        assert is_error
        assert words in output


async def test_a_damaged_or_locked_pdf_says_so(place: Standing) -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("secret")))
    writer.encrypt("password", algorithm="AES-256")
    locked = io.BytesIO()
    writer.write(locked)

    assert "protected by a password" in (await read(place, locked.getvalue()))[1]
    assert (await read(place, b"%PDF-1.4 and then nothing"))[0]
    assert (await read(place, pdf("x")[:200]))[0]


async def test_a_pdf_that_unpacks_without_end_is_refused_and_the_next_is_read(place: Standing) -> None:
    bomb = zlib.compress(bytes(200_000_000), 1)

    is_error, output = await read(place, pdf("x", filtered=bomb))

    assert is_error, output[:200]
    assert "limit" in output.lower(), output
    assert (await read(place, pdf("fine")))[1] == "[page 1 of 1]\nfine"


async def test_pages_are_for_pdf_files_alone(place: Standing) -> None:
    (place.workspace / "a.txt").write_text("x")

    assert "only a PDF has pages" in (await place.call("read", {"path": "a.txt", "pages": "1"})).output
