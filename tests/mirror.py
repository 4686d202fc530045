"""Which tests try a file or a folder of the program: `python -m tests.mirror PATHS…`, for `script/test`.

`tests/` mirrors the tree: `hub/skills` is tried by `tests/skills`, `hub/automation/schedule/cron.py` by
`tests/automation/schedule/test_cron.py`, `integrations/tools/mcp` by `tests/integrations/tools/mcp`. What has no mirror
is tried by the tests that import it: those below the nearest mirror, else wherever they are.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
PROGRAM = ("hub", "integrations", "node", "web", "examples")
MIRRORS = {"hub": "tests", "node": "tests/node_program", "examples": "tests/integration/test_new_integration.py"}
"""Where the mirror of a folder is not `tests/` and its name; commands are tried in `tests/cli`."""
ROOF = Path("tests/test_hub.py")
"""Tries what lies in no part."""
HOST = Path("tests/test_host.py")
"""Tries what integrations are handed."""


def mirror_of(path: str, checkout: Path = CHECKOUT) -> list[str]:
    """Return the tests of a path of the program, relative to the checkout; other arguments are returned as they are."""
    inner = Path(path.rstrip("/"))
    if inner.is_absolute() and inner.is_relative_to(checkout):
        inner = inner.relative_to(checkout)
    if inner.parts[:1] == () or inner.parts[0] not in PROGRAM or not (checkout / inner).exists():
        return [path]
    if (mirror := _mirror(inner)) and (checkout / mirror).exists():
        return [str(mirror)]
    above = next(each for each in map(_mirror, inner.parents) if each and (checkout / each).exists())
    found = _importing(inner, checkout / above, checkout) or _importing(inner, checkout / "tests", checkout)
    return found or [str(above)]


def _mirror(inner: Path) -> Path | None:
    """Return where the tests of a path would lie."""
    if not inner.parts:
        return None
    top, *rest = inner.with_suffix("").parts
    if top == "hub" and rest[1:2] == ["cli"]:
        return Path(f"tests/cli/test_{rest[0]}.py")
    if top == "hub" and rest[:1] == ["host"]:
        return HOST
    below = Path(MIRRORS.get(top, f"tests/{top}"))
    if below.suffix:
        return below
    if len(rest) == 1 and inner.suffix == ".py" and top == "hub":
        return ROOF
    if inner.suffix == ".py":
        rest = rest[:-1] if inner.stem == "__init__" else [*rest[:-1], f"test_{inner.stem}.py"]
    return below.joinpath(*rest)


def _importing(inner: Path, folder: Path, checkout: Path) -> list[str]:
    """Return the test files below a folder that import a module, or a module of a package."""
    module = ".".join(inner.with_suffix("").parts)
    package, _, name = module.rpartition(".")
    named = rf"from {re.escape(package)} import (?:\([^)]*|[^\n(]*)\b{re.escape(name)}\b"
    uses = re.compile(rf"^ *(?:(?:from|import) {re.escape(module)}\b|{named})", re.MULTILINE)
    files = [folder] if folder.is_file() else sorted(folder.rglob("test_*.py"))
    return [str(file.relative_to(checkout)) for file in files if uses.search(file.read_text(encoding="utf-8"))]


def main(arguments: list[str]) -> None:
    """Write the arguments of pytest, each ended by a NUL."""
    for argument in arguments:
        for each in mirror_of(argument):
            sys.stdout.write(f"{each}\0")


if __name__ == "__main__":
    main(sys.argv[1:])
