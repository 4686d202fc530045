"""The tree explains itself: small files named for their idea, packages that say what they hold, nothing left unsaid."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
FOLDERS = ("hub", "integrations", "node", "web", "tests", "script", ".ci")
TEXTS = {".py", ".js", ".mjs", ".css", ".html", ""}
NOT_OURS = {"__pycache__", "node_modules", "vendor"}
MAX_LINES = 600
NAMED_FOR_NOTHING = re.compile(r"(utils?|helpers?|common|misc)\.py")
UNFINISHED = re.compile(r"(#|//|/\*|<!--).*\b(TODO|FIXME|XXX)\b|\bNotImplementedError\b")
UNFINISHED_WORD = re.compile(r"TODO|FIXME|XXX|NotImplementedError")
CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)

Rule = Callable[[Path], list[str]]


def files(root: Path) -> Iterator[Path]:
    """The files of the tree at `root` that we write by hand, in order."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root)
            if path.is_file() and path.suffix in TEXTS and not NOT_OURS & set(inside.parts):
                yield path


def long_files(root: Path) -> list[str]:
    counts = {path.relative_to(root): len(path.read_text(encoding="utf-8").splitlines()) for path in files(root)}
    return [f"{path} has {count} lines" for path, count in counts.items() if count > MAX_LINES]


def files_named_for_nothing(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in files(root) if NAMED_FOR_NOTHING.fullmatch(path.name)]


BUNDLED_HOOKS = Path("hub/hooks/bundled")
"""Executed by path, never imported."""


def silent_packages(root: Path) -> list[str]:
    """Folders of the program with Python in them whose `__init__.py` is missing or has no docstring of two lines."""
    sources = [path for path in files(root) if path.suffix == ".py" and path.relative_to(root).parts[0] != "tests"]
    sources = [path for path in sources if BUNDLED_HOOKS not in path.relative_to(root).parents]
    folders = {root / part for path in sources for part in path.relative_to(root).parents[:-1]}
    return [str(folder.relative_to(root)) for folder in sorted(folders) if len(_docstring(folder).split("\n")) < 2]


def _docstring(folder: Path) -> str:
    path = folder / "__init__.py"
    return (path.is_file() and ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))) or ""


def unfinished_places(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}:{number}"
        for path in files(root)
        if path != Path(__file__) and UNFINISHED_WORD.search(text := path.read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1)
        if UNFINISHED.search(line)
    ]


def blind_catches(root: Path) -> list[str]:
    """Places that catch everything without a comment that says why on that line, or that pass it over in silence."""
    found = []
    for path in files(root):
        if path.suffix != ".py" or path.relative_to(root).parts[0] == "tests":
            continue
        text = path.read_text(encoding="utf-8")
        if "Exception" not in text and "except:" not in text:
            continue
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ExceptHandler) and _is_blind(node, lines[node.lineno - 1]):
                found.append(f"{path.relative_to(root)}:{node.lineno}")
    return found


def class_names_used_twice(root: Path) -> list[str]:
    """Public classes of the program whose name is used twice in the same part or integration."""
    places: dict[tuple[Path, str], list[str]] = {}
    for path in files(root):
        place = path.relative_to(root)
        if path.suffix == ".py" and place.parts[0] != "tests":
            part = Path(*place.parent.parts[: 3 if place.parts[0] == "integrations" else 2])
            for name in CLASS.findall(path.read_text(encoding="utf-8")):
                places.setdefault((part, name), []).append(str(place))
    return [f"{name}: {', '.join(found)}" for (_, name), found in places.items() if len(found) > 1]


def _is_blind(handler: ast.ExceptHandler, line: str) -> bool:
    if handler.type is None:
        return True
    if not {"Exception", "BaseException"} & {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}:
        return False
    raises_again = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    is_silent = all(isinstance(statement, ast.Pass | ast.Continue) for statement in handler.body)
    return is_silent or not (raises_again or "#" in line)


@pytest.mark.parametrize(
    "rule",
    [long_files, files_named_for_nothing, silent_packages, unfinished_places, blind_catches, class_names_used_twice],
)
def test_our_tree_keeps_the_rule(rule: Rule) -> None:
    assert rule(CHECKOUT) == []


@pytest.mark.parametrize(
    ("rule", "file", "text", "found"),
    [
        (long_files, "web/static/app.js", "x\n" * 601, "web/static/app.js has 601 lines"),
        (long_files, "tests/test_clock.py", "x\n" * 601, "tests/test_clock.py has 601 lines"),
        (files_named_for_nothing, "hub/core/utils.py", "", "hub/core/utils.py"),
        (files_named_for_nothing, "hub/core/helper.py", "", "hub/core/helper.py"),
        (silent_packages, "hub/core/clock.py", "", "hub"),
        (silent_packages, "hub/__init__.py", '"""One line."""\n', "hub"),
        (unfinished_places, "script/run", "#!/bin/sh\n# TODO\n", "script/run:2"),
        (unfinished_places, "hub/core/clock.py", "raise NotImplementedError\n", "hub/core/clock.py:1"),
        (class_names_used_twice, "hub/a.py", "class A: ...\nclass A: ...\n", "A: hub/a.py, hub/a.py"),
        (
            class_names_used_twice,
            "integrations/tools/web/a.py",
            "class A: ...\nclass A: ...\n",
            "A: integrations/tools/web/a.py, integrations/tools/web/a.py",
        ),
        (blind_catches, "hub/a.py", "try:\n    f()\nexcept:  # why\n    g()\n", "hub/a.py:3"),
        (blind_catches, "hub/a.py", "try:\n    f()\nexcept Exception:\n    g()\n", "hub/a.py:3"),
        (blind_catches, "hub/a.py", "try:\n    f()\nexcept (OSError, BaseException):\n    g()\n", "hub/a.py:3"),
        (blind_catches, "hub/a.py", "try:\n    f()\nexcept Exception:  # why\n    pass\n", "hub/a.py:3"),
    ],
)
def test_the_rule_sees_a_breach(tmp_path: Path, rule: Rule, file: str, text: str, found: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text, encoding="utf-8")

    assert found in rule(tmp_path)


@pytest.mark.parametrize(
    ("rule", "file", "text"),
    [
        (long_files, "hub/core/clock.py", "x = 1\n" * 600),
        (long_files, "tests/test_clock.py", "x = 1\n" * 600),
        (long_files, "web/static/vendor/lit.js", "x\n" * 601),
        (silent_packages, "hub/__init__.py", '"""What lives here.\n\nAnd what does not.\n"""\n'),
        (blind_catches, "hub/a.py", "try:\n    f()\nexcept Exception:  # why\n    g()\n"),
        (blind_catches, "hub/a.py", "try:\n    f()\nexcept Exception as error:\n    raise E from error\n"),
        (unfinished_places, "hub/a.py", "TODO = 'todo'\n"),
        (blind_catches, "hub/a.py", "try:\n    f()\nexcept OSError:\n    pass\n"),
    ],
)
def test_the_rule_lets_the_rest_be(tmp_path: Path, rule: Rule, file: str, text: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text, encoding="utf-8")

    assert rule(tmp_path) == []


def test_another_part_may_have_a_class_of_the_same_name(tmp_path: Path) -> None:
    for part in ("hub/agent/loop", "hub/automation/engine", "integrations/tools/web", "integrations/tools/files"):
        (tmp_path / part).mkdir(parents=True)
        (tmp_path / part / "run.py").write_text("class RunState: ...\n", encoding="utf-8")

    assert class_names_used_twice(tmp_path) == []

    (tmp_path / "hub/automation/again.py").write_text("class RunState: ...\n", encoding="utf-8")

    assert len(class_names_used_twice(tmp_path)) == 1
