"""Managing skills: view, enable, disable, install, remove; and proposals of agents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import Conflict, Forbidden, InvalidRequest, NotFound, TimedOut
from hub.core.executors import DOCUMENTS
from hub.security.egress import Egress
from hub.skills.fetching import fetch_archive
from hub.skills.finding import ScanFinding, dangers
from hub.skills.folder import digest_of, discard_folder, has_files, put_folder, read_folder
from hub.skills.pins import SkillPin
from hub.skills.registry import SkillRegistry
from hub.skills.skill import TRUSTED, FoundSkill, JudgedSkill, SkillSource
from hub.skills.skill_file import FILE_NAME, SkillFile, SkillInvalid, read_skill

PROPOSALS_LIMIT = 20


class SkillLook(Struct, frozen=True):
    """A skill as a person sees it before enabling it.

    Attributes:
        judged: The skill and its state.
        digest: The digest of the files that are shown: enabling needs it, so that nothing else is enabled.
        text: Its SKILL.md.
        files: Sizes in bytes by path.
        findings: The findings of the scan.
    """

    judged: JudgedSkill
    digest: str
    text: str
    files: Mapping[str, int]
    findings: tuple[ScanFinding, ...]


class SkillControl:
    """Changes the set of skills and their state.

    Args:
        skills: The skills.
        home: The directory that skills are installed in.
        proposals: The directory that agents' proposals wait in.
        egress: Fetches what is installed by URL.
        clock: The clock.
    """

    def __init__(self, skills: SkillRegistry, home: Path, proposals: Path, egress: Egress, clock: Clock) -> None:
        self._skills = skills
        self._home = home
        self._proposals = proposals
        self._egress = egress
        self._clock = clock
        self._changing = asyncio.Lock()

    async def list(self, agent_id: str) -> list[JudgedSkill]:
        """Return all skills of an agent with their states."""
        await self._skills.refresh()
        return self._skills.judge(agent_id)

    async def look(self, name: str, agent_id: str) -> SkillLook:
        """Return a skill with everything that a person should know about it.

        Args:
            name: Its id, or its name: then the one that is used, or else the first.

        Raises:
            NotFound: It does not exist.
        """
        from hub.skills.scan import scan

        judged = await self._find(name, agent_id)
        if judged.skill.file is None:
            return SkillLook(judged, "", "", {}, ())
        files = await asyncio.to_thread(read_folder, judged.skill.folder)
        findings = await asyncio.to_thread(scan, files, judged.skill.file)
        sizes = {path: len(files[path]) for path in sorted(files)}
        return SkillLook(judged, digest_of(files), files[FILE_NAME].decode("utf-8", "replace"), sizes, findings)

    async def enable(self, name: str, agent_id: str, digest: str | None, *, accept: bool = False) -> JudgedSkill:
        """Enable a skill; one that is not bundled stays enabled only until it changes.

        Args:
            digest: The digest of the reviewed files.
            accept: Whether it is enabled in spite of the scan's findings.

        Raises:
            NotFound: It does not exist.
            InvalidRequest: It is broken, or was not looked at.
            Conflict: It is not the version that was shown, or the scan found signs of harm.
        """
        async with self._changing:
            look = await self.look(name, agent_id)
            skill = look.judged.skill
            if skill.file is None:
                raise InvalidRequest(f"{skill.id} cannot be enabled: {skill.error}")
            if skill.source in TRUSTED:
                await self._keep(skill.id, replace(skill.pin, enabled=None))
                return await self._find(skill.id, agent_id)
            if digest is None:
                raise InvalidRequest(f"look at {skill.id} first: enabling it needs the digest from skills.info")
            if digest != look.digest:
                raise Conflict(f"the files of {skill.id} have changed since you saw them; inspect it again")
            if not accept and (bad := dangers(look.findings)):
                told = "; ".join(map(str, bad))
                raise Conflict(f"{skill.id} is in quarantine: {told}", details={"findings": len(bad)})
            id = skill.id
            if skill.source is SkillSource.PROPOSED:
                id = await asyncio.to_thread(self._adopt, skill)
                await DOCUMENTS.run(self._skills.pins.put, skill.id, None)
            pin = SkillPin(True, digest, self._now_ms(), skill.pin.origin)
            await self._keep(id, pin)
            return await self._find(id, agent_id)

    async def disable(self, name: str, agent_id: str) -> JudgedSkill:
        """Switch a skill off until it is enabled again.

        Raises:
            NotFound: It does not exist.
        """
        async with self._changing:
            skill = (await self._find(name, agent_id)).skill
            await self._keep(skill.id, replace(skill.pin, enabled=False))
            return await self._find(skill.id, agent_id)

    async def install(
        self,
        data: bytes,
        origin: Mapping[str, Any],
        *,
        path: str | None = None,
        overwrite: bool = False,
        name: str = "",
    ) -> str:
        """Put a skill into the home, off; return its id.

        Args:
            data: An archive, or the text of a SKILL.md.
            origin: Its origin.
            path: The folder in the archive, when it holds several skills.
            overwrite: Whether it may take the place of one of the same name.
            name: Its name, when neither its SKILL.md nor its folder has one.

        Raises:
            SkillInvalid: It is refused; the message says why.
            Conflict: There is one with that name.
        """
        folder, files = await self._unpacked(data, path)
        file = _readable(files, folder or name)
        async with self._changing:
            id, target = f"{SkillSource.HOME}/{file.name}", self._home / file.name
            if overwrite and await asyncio.to_thread(has_files, target, files):
                return id  # and stays enabled
            await asyncio.to_thread(put_folder, target, files, overwrite=overwrite)
            await self._keep(id, SkillPin(origin={**origin, **({"path": path} if path else {})}))
            return id

    async def install_url(self, url: str, *, path: str | None = None, overwrite: bool = False) -> str:
        """Fetch a ZIP file or a SKILL.md and install it; see `install`.

        Raises:
            HubError: It cannot be fetched.
        """
        data = await fetch_archive(self._egress, url, f"an archive or a {FILE_NAME}")
        return await self.install(data, {"kind": "url", "source": url}, path=path, overwrite=overwrite)

    async def remove(self, name: str, agent_id: str) -> str:
        """Delete a skill that was installed in the home or proposed; return its id.

        Raises:
            NotFound: It does not exist.
            Forbidden: It is none of those: its files belong to somebody else.
        """
        async with self._changing:
            skill = (await self._find(name, agent_id)).skill
            if skill.source not in (SkillSource.HOME, SkillSource.PROPOSED):
                raise Forbidden(f"{skill.id} is not in the home's skills; switch it off instead")
            await asyncio.to_thread(discard_folder, skill.folder)
            await self._keep(skill.id, None)
            return skill.id

    async def propose(self, name: str, text: str, origin: Mapping[str, Any]) -> str:
        """Store an agent's proposal of a skill, for the owner to review; return its id.

        Raises:
            SkillInvalid: It is not a valid SKILL.md, or has another name.
            Conflict: So many proposals wait already.
        """
        data = text.encode()
        file = _readable({FILE_NAME: data}, name)
        if file.name != name:
            raise SkillInvalid(f"the name in its front matter is {file.name}; expected {name}")
        async with self._changing:
            waiting = [each for each in self._skills.all() if each.source is SkillSource.PROPOSED]
            if len(waiting) >= PROPOSALS_LIMIT and all(each.name != name for each in waiting):
                raise Conflict(
                    f"{PROPOSALS_LIMIT} proposals wait for the owner already; ask them to review those first"
                )
            await asyncio.to_thread(put_folder, self._proposals / name, {FILE_NAME: data}, overwrite=True)
            id = f"{SkillSource.PROPOSED}/{name}"
            await self._keep(id, SkillPin(origin=origin))
            return id

    async def _find(self, name: str, agent_id: str) -> JudgedSkill:
        judged = await self.list(agent_id)
        named = [each for each in judged if name in (each.skill.id, each.skill.name)]
        if not named:
            raise NotFound(f"there is no skill {name[:100]!r}; `homarus skills list` shows all")
        return next((each for each in named if each.skill.id == name or each.ready), named[0])

    async def _keep(self, id: str, pin: SkillPin | None) -> None:
        await DOCUMENTS.run(self._skills.pins.put, id, pin)
        await self._skills.refresh(force=True)

    def _adopt(self, skill: FoundSkill) -> str:
        """Move a proposal into the home's skills, replacing one of the same name."""
        target = self._home / skill.folder.name
        files = read_folder(skill.folder)
        put_folder(target, files, overwrite=True)
        discard_folder(skill.folder)
        return f"{SkillSource.HOME}/{target.name}"

    async def _unpacked(self, data: bytes, path: str | None) -> tuple[str, dict[str, bytes]]:
        from hub.skills.archive import read_skill_data

        try:
            return await self._egress.reader.read(
                "the skill", read_skill_data, data, path, returns=tuple[str, dict[str, bytes]]
            )
        except (InvalidRequest, TimedOut) as error:
            raise SkillInvalid(error.message) from error

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1_000)


def _readable(files: Mapping[str, bytes], folder: str) -> SkillFile:
    try:
        return read_skill(files[FILE_NAME].decode("utf-8"), folder)
    except UnicodeDecodeError as error:
        raise SkillInvalid(f"{FILE_NAME} is not UTF-8 text") from error
