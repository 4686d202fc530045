"""The directories of skills, and their contents."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hub.skills.finding import ScanFinding
from hub.skills.folder import FileFacts, digest_of, facts_of, read_folder
from hub.skills.pins import SkillPin
from hub.skills.skill import TRUSTED, FoundSkill, SkillSource
from hub.skills.skill_file import FILE_LIMIT_BYTES, FILE_NAME, SkillFile, SkillInvalid, read_skill

FOLDER = "skills"
SKILLS_LIMIT = 500
"""Folders that are looked at in one directory."""


class SkillPlace(Struct, frozen=True):
    """A directory whose folders are skills.

    Attributes:
        source: What it is.
        path: The directory; it need not exist.
        prefix: The prefix of its skills' ids.
        agent_id: The only agent that they are for.
    """

    source: SkillSource
    path: Path
    prefix: str
    agent_id: str | None = None

    def folders(self) -> list[Path]:
        """Return the folders that may be skills, by name; also symlinks, which are refused on reading."""
        try:
            with os.scandir(self.path) as entries:
                names = [each.name for each in entries if not each.name.startswith((".", "_")) and each.is_dir()]
        except OSError:
            return []
        return [self.path / name for name in sorted(names)[:SKILLS_LIMIT]]

    def facts(self) -> tuple[FileFacts, ...]:
        """Return file facts that reveal a change in it."""
        if self.source in TRUSTED:  # they change with the hub alone
            return ()
        found: list[FileFacts] = []
        for folder in self.folders():
            found += ((str(folder), 0, 0, 0, 0), *facts_of(folder))
        return tuple(found)


def find_skills(place: SkillPlace, pins: Mapping[str, SkillPin]) -> list[FoundSkill]:
    """Return the skills in a directory; folders without a SKILL.md are ignored. Blocks."""
    found = []
    for folder in place.folders():
        if not os.path.lexists(folder / FILE_NAME):
            continue
        id = f"{place.prefix}/{folder.name}"
        found.append(_look(place, folder, id, pins.get(id, SkillPin())))
    return found


def _look(place: SkillPlace, folder: Path, id: str, pin: SkillPin) -> FoundSkill:
    digest, files = None, dict[str, bytes]()
    try:
        if place.source in TRUSTED:
            data = (folder / FILE_NAME).read_bytes()
        else:
            files = read_folder(folder)
            data, digest = files[FILE_NAME], digest_of(files)
        if len(data) > FILE_LIMIT_BYTES:
            raise SkillInvalid(f"{FILE_NAME} is larger than {FILE_LIMIT_BYTES // 1024} KB")
        file = read_skill(data.decode("utf-8"), folder.name)
    except SkillInvalid as error:
        return FoundSkill(id, place.source, folder, None, error.message, digest, pin, place.agent_id)
    except UnicodeDecodeError:
        return FoundSkill(id, place.source, folder, None, f"{FILE_NAME} is not UTF-8", digest, pin, place.agent_id)
    except (OSError, KeyError) as error:
        told = f"{FILE_NAME} cannot be read: {error}"
        return FoundSkill(id, place.source, folder, None, told, None, pin, place.agent_id)
    known = place.source in TRUSTED or (pin.enabled and pin.digest == digest)
    findings = () if known else _scanned(files, file)
    return FoundSkill(id, place.source, folder, file, "", digest, pin, place.agent_id, findings)


def _scanned(files: Mapping[str, bytes], file: SkillFile) -> tuple[ScanFinding, ...]:
    from hub.skills.scan import scan  # its rules take time to load, and a home with bundled skills alone needs none

    return scan(files, file)
