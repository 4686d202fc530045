"""The pages that are written from the program itself: `python -m tests.docs.pages` writes them anew."""

from __future__ import annotations

import sys
from pathlib import Path

from hub.cli.app import app
from hub.cli.manual import manual
from hub.config.reference import reference
from hub.integration.catalog import find
from hub.integration.schemas import schemas
from hub.sections import all_sections

CHECKOUT = Path(__file__).parents[2]
DOCS = CHECKOUT / "docs"
MARK = "<!-- Written by script/docs from here on. -->\n"


def generated() -> dict[Path, str]:
    """What stands below the mark of each page."""
    return {
        DOCS / "configuration.md": reference(all_sections(schemas(find(None)))),
        DOCS / "cli.md": manual(app),
    }


def renewed(page: Path, text: str) -> str:
    """The page with what is generated in its place; what people wrote above the mark stays."""
    above, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"{page} has no line {MARK!r}")
    return f"{above}{mark}\n{text}"


def write() -> list[Path]:
    """Write the pages that changed; return which."""
    changed = []
    for page, text in generated().items():
        new = renewed(page, text)
        if new != page.read_text(encoding="utf-8"):
            page.write_text(new, encoding="utf-8")
            changed.append(page)
    return changed


if __name__ == "__main__":
    sys.stdout.write("".join(f"{page.relative_to(CHECKOUT)}\n" for page in write()))
