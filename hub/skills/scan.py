"""The scan of a skill: findings that a person should know before enabling it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import orjson

from hub.skills.finding import ScanFinding, ScanSeverity
from hub.skills.scan_rules import (
    ARCHIVE_STARTS,
    BIDIRECTIONAL,
    DOCUMENT_SUFFIXES,
    FLAG,
    HIDDEN,
    INSTALL_SCRIPTS,
    INSTALLERS,
    PROGRAM_STARTS,
    PROGRAM_SUFFIXES,
    SCRIPT_SUFFIXES,
    TEXT_RULES,
)
from hub.skills.skill_file import FILE_NAME, SkillFile

FINDINGS_LIMIT = 100
TEXT_LIMIT_BYTES = 256 * 1024
"""Of one file that is looked through."""
TEXTS_LIMIT_BYTES = 1024 * 1024
"""Of all files together."""
LINE_LIMIT = 2_000
"""Characters of a piece of a line that is looked at on its own."""
OVERLAP = 400
"""Characters that pieces of a long line share, so that no sign falls between two."""

_ORDER = list(ScanSeverity)


def scan(files: Mapping[str, bytes], skill: SkillFile | None = None) -> tuple[ScanFinding, ...]:
    """Return the findings in a skill's files, worst first; at most `FINDINGS_LIMIT`.

    Args:
        files: All files by path.
        skill: Its SKILL.md, if it can be read.
    """
    found: list[ScanFinding] = []
    left = TEXTS_LIMIT_BYTES
    for path in sorted(files, key=lambda path: (path != FILE_NAME, path)):
        findings, size = _in_file(path, files[path], min(left, TEXT_LIMIT_BYTES))
        found += findings
        left -= size
    if skill is not None:
        found += _in_front(skill)
    seen: dict[tuple[str, str, int | None], ScanFinding] = {}
    for each in found:
        seen.setdefault((each.rule, each.path, each.line), each)
    return tuple(sorted(seen.values(), key=lambda each: _ORDER.index(each.severity))[:FINDINGS_LIMIT])


def _in_file(path: str, data: bytes, limit: int) -> tuple[list[ScanFinding], int]:
    """Return the findings in a file, and the number of bytes scanned."""
    name = PurePosixPath(path.lower())
    if data.startswith(PROGRAM_STARTS) or name.suffix in PROGRAM_SUFFIXES:
        return [ScanFinding(ScanSeverity.DANGER, "program", "is a program, which cannot be read", path)], 0
    if data.startswith(ARCHIVE_STARTS):
        return [ScanFinding(ScanSeverity.DANGER, "archive", "is an archive, which hides what is in it", path)], 0
    found = list(_by_name(path, name, data))
    if name.suffix in DOCUMENT_SUFFIXES:
        return found, 0
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return [*found, ScanFinding(ScanSeverity.WARNING, "binary", "is not text, and was not looked into", path)], 0
    if len(data) > limit:
        return [*found, ScanFinding(ScanSeverity.DANGER, "too_long", "is too long to be looked through", path)], 0
    return [*found, *_in_text(path, text)], len(data)


def _by_name(path: str, name: PurePosixPath, data: bytes) -> Iterator[ScanFinding]:
    if any(part.startswith(".") for part in name.parts):
        yield ScanFinding(ScanSeverity.WARNING, "hidden_file", "is a hidden file", path)
    if name.name in INSTALLERS:
        yield ScanFinding(ScanSeverity.DANGER, "installer", "is an installer; the hub runs none", path)
    elif name.suffix in SCRIPT_SUFFIXES or data.startswith(b"#!"):
        yield ScanFinding(ScanSeverity.NOTE, "script", "is a script", path)
    if name.name == "package.json":
        yield from _in_package(path, data)


def _in_text(path: str, text: str) -> Iterator[ScanFinding]:
    for number, whole in enumerate(FLAG.sub("", text.removeprefix("\ufeff")).splitlines(), 1):
        if BIDIRECTIONAL.search(whole):
            yield _at(
                ScanSeverity.DANGER, "bidirectional", "displays its text in another order than it is read", path, number
            )
        if HIDDEN.search(whole):
            yield _at(ScanSeverity.DANGER, "hidden_text", "holds signs that cannot be seen", path, number)
        for start in range(0, max(1, len(whole)), LINE_LIMIT - OVERLAP):
            line = whole[start : start + LINE_LIMIT]
            for rule in TEXT_RULES:
                if rule.pattern.search(line):
                    yield _at(rule.severity, rule.name, rule.message, path, number)
            if start + LINE_LIMIT >= len(whole):
                break


def _in_package(path: str, data: bytes) -> Iterator[ScanFinding]:
    try:
        package: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if isinstance(scripts, dict) and any(name in scripts for name in INSTALL_SCRIPTS):
        yield ScanFinding(ScanSeverity.DANGER, "install_script", "runs a script when it is installed", path)


def _in_front(skill: SkillFile) -> Iterator[ScanFinding]:
    for note in skill.notes:
        yield ScanFinding(ScanSeverity.NOTE, f"form: {note}", f"is accepted, although {note}", FILE_NAME)
    if skill.installs:
        downloads = any(each.get("kind") == "download" for each in skill.installs)
        severity = ScanSeverity.WARNING if downloads else ScanSeverity.NOTE
        yield ScanFinding(severity, "installs", "names installers of programs; the hub runs none", FILE_NAME)
    if skill.tool is not None:
        told = f"has a command that calls the tool {skill.tool} without a model"
        yield ScanFinding(ScanSeverity.NOTE, "dispatch", told, FILE_NAME)
    asked = ", ".join(dict.fromkeys((*skill.requires.env, *filter(None, [skill.primary_env]))))
    if asked:
        told = f"gets the environment variables {asked}"
        yield ScanFinding(ScanSeverity.NOTE, "environment", told, FILE_NAME)


def _at(severity: ScanSeverity, rule: str, message: str, path: str, line: int) -> ScanFinding:
    return ScanFinding(severity, rule, message, path, line)
