"""Mends what an audit found: only the keys and files that a finding names, with a way back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from hub.config.files_editor import FilesEditor, Saved
from hub.config.history import ConfigVersion
from hub.config.paths import KeyPath
from hub.config.spans import Tagged
from hub.core.errors import HubError, NotFound
from hub.doctor.audit.weakness import AuditSeverity, Weakness
from hub.doctor.permissions import narrow


class Mended(Struct, frozen=True):
    """What was mended.

    Attributes:
        fixed: The findings that are gone.
        failed: Those that could not be mended, each with the reason.
        versions: The files of the configuration as they were before, in the history.
    """

    fixed: tuple[Weakness, ...]
    failed: tuple[tuple[Weakness, str], ...]
    versions: tuple[ConfigVersion, ...]

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "fixed": [{"id": each.id, "what": each.spot.what, "change": each.fix} for each in self.fixed],
            "failed": [{"id": each.id, "what": each.spot.what, "why": why} for each, why in self.failed],
            "versions": [each.as_dict() for each in self.versions],
        }


def choose(found: Iterable[Weakness], only: frozenset[str]) -> list[Weakness]:
    """Return the findings to mend: those of these ids or of these checks, or without any all above a note."""
    if only:
        return [each for each in found if not only.isdisjoint({each.id, each.check.id})]
    return [each for each in found if each.severity is not AuditSeverity.NOTE]


def mend(found: Iterable[Weakness], editor: FilesEditor) -> Mended:
    """Mend what can be mended here. Each file that is changed is kept in the history of the configuration. Blocks.

    Args:
        found: What an audit found.
        editor: Of the home that was audited.
    """
    fixed: list[Weakness] = []
    failed: list[tuple[Weakness, str]] = []
    versions: dict[str, ConfigVersion] = {}
    for each in _in_order([one for one in found if one.fix is not None]):
        try:
            saved = _mend_one(each, editor)
        except (HubError, OSError) as problem:
            failed.append((each, problem.message if isinstance(problem, HubError) else str(problem)))
            continue
        fixed.append(each)
        for one in saved:
            if one.version is not None:
                versions.setdefault(one.file, one.version)  # the first is from before all changes
    return Mended(tuple(fixed), tuple(failed), tuple(versions.values()))


def _mend_one(weakness: Weakness, editor: FilesEditor) -> Sequence[Saved]:
    spot = weakness.spot
    for path in spot.narrow:
        narrow(path)
    if spot.to_secret:
        return _move(spot.keys, spot.to_secret, editor)
    if not spot.edits:
        return ()
    try:
        return editor.change(spot.edits)
    except NotFound:  # another finding named the same key, and took it away
        return ()


def _move(keys: KeyPath, name: str, editor: FilesEditor) -> Sequence[Saved]:
    """Move a value into secrets.yaml, under a name that is free."""
    taken, free = set(editor.secret_names()), name
    for number in range(2, len(taken) + 3):
        if free not in taken:
            break
        free = f"{name}_{number}"
    before = editor.set_secrets({free: str(editor.get_value(keys))})
    try:
        return editor.change({keys: Tagged("!secret", free)})
    except HubError:
        editor.put_back_secrets(before)
        raise


def _in_order(found: list[Weakness]) -> list[Weakness]:
    """Return findings so that none moves the places of those after it: later items of lists first."""
    return sorted(found, key=lambda each: [(isinstance(key, int), key) for key in each.spot.keys], reverse=True)
