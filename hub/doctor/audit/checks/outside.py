"""What comes from outside and is obeyed: integrations and skills of others, with what the scan finds in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot
from hub.doctor.permissions import OTHERS_WRITE
from hub.extensions.custom_integrations import has_drifted, integration_pins
from hub.skills.finding import dangers
from hub.skills.folder import read_folder
from hub.skills.pins import SkillPins
from hub.skills.places import FOLDER, SkillPlace, find_skills
from hub.skills.skill import FoundSkill, SkillSource
from hub.skills.skill_file import SkillInvalid
from hub.storage.files import read_bounded

SOURCE_LIMIT_BYTES = 256 * 1024
FILES_LIMIT = 200


def _integrations(context: AuditContext) -> Iterator[Spot]:
    for domain in sorted(context.used & context.catalog.keys()):
        found = context.catalog[domain]
        if not found.custom:
            continue
        folder = context.shown(found.path)
        if found.overrides:
            what = phrase("An integration of your own replaces {name}", name=domain)
        else:
            what = phrase("The integration {name} did not come with Homarus", name=domain)
        yield Spot(what, file=folder)


def _changed_code(context: AuditContext) -> Iterator[Spot]:
    pins = integration_pins(context.home).all()
    for domain in sorted(context.used & context.catalog.keys()):
        found = context.catalog[domain]
        if found.custom and has_drifted(found.path, pins.get(domain)):
            what = phrase("The files of the integration {name} are not those that were looked at", name=domain)
            yield Spot(what, file=context.shown(found.path), command=f"homarus integration enable {domain}")


def _suspicious_code(context: AuditContext) -> Iterator[Spot]:
    for domain in sorted(context.used & context.catalog.keys()):
        found = context.catalog[domain]
        if not found.custom:
            continue
        from hub.skills.scan import scan  # its rules take time to load, and most homes have no code of others

        for sign in dangers(scan(_sources(found.path))):
            told = phrase("{what} in the integration {name}", what=sign.sentence, name=domain)
            yield Spot(told, file=context.shown(found.path / sign.path), line=sign.line)


def _sources(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(folder.rglob("*.py"))[:FILES_LIMIT]:
        try:
            found[str(path.relative_to(folder))] = read_bounded(path, SOURCE_LIMIT_BYTES)
        except (OSError, ValueError):
            continue
    return found


def _skills(context: AuditContext) -> Iterator[FoundSkill]:
    """Yield the skills that did not come with Homarus and that the owner enabled, as they were enabled."""
    pins = SkillPins(context.home.storage, documents=context.home.documents).all()
    for place in _places(context):
        for skill in find_skills(place, pins):
            if skill.pin.enabled and skill.digest == skill.pin.digest:
                yield skill


def _places(context: AuditContext) -> Iterator[SkillPlace]:
    home = context.home.path
    for agent in context.agents:
        default = "workspace" if agent.keys is None or agent.stated.get("default") else f"workspace-{agent.id}"
        workspace = home / Path(agent.stated.get("workspace") or default).expanduser()
        yield SkillPlace(SkillSource.WORKSPACE, workspace / FOLDER, f"workspace/{agent.id}", agent.id)
    yield SkillPlace(SkillSource.HOME, home / FOLDER, "home")
    for written in context.section("skills").get("extra_dirs", ()):
        path = home / Path(written).expanduser()
        yield SkillPlace(SkillSource.EXTRA, path, f"extra:{path}")


def _dangerous_skills(context: AuditContext) -> Iterator[Spot]:
    for skill in _skills(context):
        from hub.skills.scan import scan  # as above

        try:
            signs = dangers(scan(read_folder(skill.folder), skill.file))
        except SkillInvalid:
            continue
        for sign in signs:
            told = phrase("{what} in the skill {name}, which is enabled", what=sign.sentence, name=skill.name)
            file, command = context.shown(skill.folder / sign.path), f"homarus skills disable {skill.id}"
            yield Spot(told, file=file, line=sign.line, command=command)


def _own_skills(context: AuditContext) -> Iterator[Spot]:
    for skill in _skills(context):
        kind = skill.pin.origin.get("kind")
        if kind in ("url", "git", "zip", "registry"):
            source = str(skill.pin.origin.get("source") or kind)
            what = phrase("The skill {name} came from {source}", name=skill.name, source=source)
            yield Spot(what, file=context.shown(skill.folder))


def _open_folders(context: AuditContext) -> Iterator[Spot]:
    for at, written in enumerate(context.section("skills").get("extra_dirs", ())):
        path = context.home.path / Path(written).expanduser()
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if mode & OTHERS_WRITE:
            keys = context.written(("skills", "extra_dirs", at))
            what = phrase("Other users of this machine can put skills into {folder}", folder=str(path))
            yield Spot(what, keys, narrow=(path,))


CHECKS = (
    AuditCheck(
        "outside.suspicious_code",
        AuditSeverity.CRITICAL,
        phrase("What the scan finds in integrations of others"),
        phrase("An integration is a program with all rights of the hub: it can read your keys and act as you."),
        phrase("Read the line, ask who wrote it, and delete the folder if you do not know."),
        _suspicious_code,
    ),
    AuditCheck(
        "outside.changed_code",
        AuditSeverity.CRITICAL,
        phrase("Whether integrations of others are as they were when they were enabled"),
        phrase("An integration is a program with all rights of the hub: it can read your keys and act as you."),
        phrase("Look at what changed, and enable it again if it was you; else delete the folder."),
        _changed_code,
    ),
    AuditCheck(
        "outside.dangerous_skill",
        AuditSeverity.WARNING,
        phrase("What the scan finds in skills that are enabled"),
        phrase("The assistant follows what a skill says, as far as its tools and your approvals go."),
        phrase("Read the line, and disable the skill unless you know why it is there."),
        _dangerous_skills,
    ),
    AuditCheck(
        "outside.skill_folder",
        AuditSeverity.WARNING,
        phrase("Who may put skills into folders"),
        phrase("Somebody can leave a skill there that looks like one of yours, and wait until you enable it."),
        phrase("Let only your own user write there."),
        _open_folders,
    ),
    AuditCheck(
        "outside.integrations",
        AuditSeverity.NOTE,
        phrase("Integrations that did not come with Homarus"),
        phrase("An integration is a program with all rights of the hub: it can read your keys and act as you."),
        phrase("Keep those whose author you know, and look at them again when they change."),
        _integrations,
    ),
    AuditCheck(
        "outside.skills",
        AuditSeverity.NOTE,
        phrase("Skills from elsewhere"),
        phrase("The assistant follows what a skill says, as far as its tools and your approvals go."),
        phrase("Keep those that you use and looked at; it is off again when a file of it changes."),
        _own_skills,
    ),
)
