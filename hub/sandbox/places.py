"""The machine as a sandbox sees it: its own files, and the agent's workspace where configured.

Inside a workspace the memory, other conversations' attachments and what the hub acts on (instructions, skills, hooks)
are covered or read-only, so that nothing that a program writes is ever loaded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.core.errors import Unavailable
from hub.core.executors import FILES
from hub.sandbox.binds import check_source
from hub.sandbox.contract import WORKSPACE, Mount, SandboxSpec
from hub.sandbox.settings import BROWSER, SandboxSettings
from hub.security.jail_path import TEMPORARY_PREFIX
from hub.security.root import Root

AGENT = "/agent"
"""Where an agent's workspace is seen that may only be read."""
FIRST_UID, UIDS = 61_200, 4_000
"""The users that programs have where the hub is root: one for each sandbox, which owns nothing else."""
SWEPT_LIMIT = 20_000
SHOWN_LIMIT = 200


class WorkspaceRules(Struct, frozen=True):
    """The parts of a workspace that are hidden from sandboxes.

    Attributes:
        covered_files, covered_directories: What is hidden, at the top of the workspace.
        fixed_files, fixed_directories: What is never written from inside: the hub acts on it.
    """

    covered_files: tuple[str, ...]
    covered_directories: tuple[str, ...]
    fixed_files: tuple[str, ...]
    fixed_directories: tuple[str, ...]


class SandboxPlaces:
    """Names sandboxes, makes their directories, and lists their mounts.

    Args:
        home: The hub's home directory.
        storage: The parent directory of sandboxes' files.
        workspace: Returns an agent's workspace.
        rules: What of a workspace is kept from sandboxes.
    """

    def __init__(
        self,
        home: Path,
        storage: Path,
        workspace: Callable[[str], Path],
        rules: WorkspaceRules,
    ) -> None:
        self._home, self._storage, self._workspace, self._rules = home, storage, workspace, rules
        self.mark = sha256(os.fsencode(home.resolve())).hexdigest()[:8]

    def name(self, agent_id: str, session_key: str, settings: SandboxSettings) -> str:
        """Return the name of the sandbox of a conversation."""
        return f"homarus-{self.mark}-{_part(agent_id, session_key, settings.scope)}"

    def own_files(self, agent_id: str, session_key: str, settings: SandboxSettings) -> Root:
        """Return the sandbox's own files, made if missing. Blocks."""
        return Root(self._make(_part(agent_id, session_key, settings.scope)))

    async def spec(
        self, agent_id: str, session_key: str, settings: SandboxSettings, engine: Mapping[str, Any]
    ) -> SandboxSpec:
        """Return the specification of a conversation's sandbox, with its directories ready.

        Raises:
            Unavailable: They cannot be made.
            InvalidRequest: Something is not to be mounted.
        """
        try:
            return await FILES.run(self._spec, agent_id, session_key, settings, engine)
        except OSError as error:
            raise Unavailable(f"the directories of the sandbox cannot be made: {error}") from error

    async def forget(self, session_key: str) -> None:
        """Delete the files of a sandbox that was for one conversation alone."""
        agent_id = session_key.split(":")[1] if session_key.count(":") else session_key
        folder = self._storage / _part(agent_id, session_key, "session")
        await FILES.run(shutil.rmtree, folder, ignore_errors=True)

    def _make(self, part: str) -> Path:
        own = self._storage / part / "workspace"
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        return own

    def _spec(
        self, agent_id: str, session_key: str, settings: SandboxSettings, engine: Mapping[str, Any]
    ) -> SandboxSpec:
        part = _part(agent_id, session_key, settings.scope)
        own, access = self._make(part), settings.workspace_access
        workspace = self._workspace(agent_id)
        uid, gid = _user(part, workspace if access != "none" else None)
        mounts, covered = [Mount(str(own), WORKSPACE, writable=True)], list[str]()
        if access == "ro":
            mounts += self._shown(workspace.resolve())
        if access == "rw":
            mounts = self._given(workspace.resolve())
            covered = [f"{WORKSPACE}/{name}" for name in self._rules.covered_directories]
        if settings.scope.startswith(BROWSER):  # the hub tells it where to put what it downloads
            mounts.append(Mount(str(own), str(own), writable=True))
        for bind in engine.get("binds", ()):
            source, target, kind = bind.split(":")
            mounts.append(Mount(check_source(source, self._home), target, kind == "rw"))
        if os.getuid() == 0:
            skip = {*self._rules.covered_files, *self._rules.covered_directories, *self._rules.fixed_files}
            for folder in {own, workspace} if access != "none" else {own}:
                _own(folder, uid, gid, skip)
        shared, one = settings.scope == "shared", settings.scope == "session"
        return SandboxSpec(
            name=self.name(agent_id, session_key, settings),
            home=self.mark,
            agent_id="" if shared else agent_id,
            scope=settings.scope,
            session_key=session_key if one else "",
            uid=uid,
            gid=gid,
            folder=own.parent,
            mounts=tuple(mounts),
            covered=tuple(covered),
            settings=engine,
        )

    def _shown(self, workspace: Path) -> list[Mount]:
        """Return read-only mounts of the top-level entries of a workspace, without hidden ones."""
        hidden = {*self._rules.covered_files, *self._rules.covered_directories}
        with os.scandir(workspace) as entries:
            names = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False) or _is_plain(each))
        shown = [name for name in names if name not in hidden and not name.startswith(TEMPORARY_PREFIX)]
        return [Mount(str(workspace / name), f"{AGENT}/{name}") for name in shown[:SHOWN_LIMIT]]

    def _given(self, workspace: Path) -> list[Mount]:
        """Return mounts of a whole workspace: hidden parts are covered, parts that the hub acts on are read-only.

        Both are made empty where they are missing, since a program could make them. A file that the hub has replaced
        is another file: its mount names it by its number, so that the sandbox is made again.
        """
        rules = self._rules
        for name in (*rules.covered_directories, *rules.fixed_directories):
            (workspace / name).mkdir(mode=0o700, exist_ok=True)
        for name in (*rules.covered_files, *rules.fixed_files):
            (workspace / name).touch(mode=0o600, exist_ok=True)
        fixed = [Mount(str(workspace / name), f"{WORKSPACE}/{name}") for name in rules.fixed_directories]
        for name in (*rules.covered_files, *rules.fixed_files):
            source = "/dev/null" if name in rules.covered_files else str(workspace / name)
            fixed.append(Mount(source, f"{WORKSPACE}/{name}", number=(workspace / name).lstat().st_ino))
        return [Mount(str(workspace), WORKSPACE, writable=True), *fixed]


def _is_plain(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def _part(agent_id: str, session_key: str, scope: str) -> str:
    if scope == "shared":
        return "shared"
    if scope == "agent":
        return f"agent-{agent_id}"
    if scope.startswith(BROWSER):
        return f"{scope}.{agent_id}"
    return f"session-{agent_id}-{sha256(session_key.encode()).hexdigest()[:16]}"


def _user(part: str, workspace: Path | None) -> tuple[int, int]:
    """Return the user of programs: the hub's, or, if that is root, an unprivileged one."""
    if os.getuid() != 0:
        return os.getuid(), os.getgid()
    if workspace is not None and (facts := workspace.stat()).st_uid != 0:
        return facts.st_uid, facts.st_gid or facts.st_uid
    uid = FIRST_UID + int.from_bytes(sha256(part.encode()).digest()[:4], "big") % UIDS
    return uid, uid


def _own(folder: Path, uid: int, gid: int, skip: set[str]) -> None:
    """Give files that the hub wrote as root to the sandbox's user. Follows no symlinks."""
    seen = 0
    for path, directories, names, descriptor in os.fwalk(folder, follow_symlinks=False):
        top = path == str(folder)
        if top:
            directories[:] = [name for name in directories if name not in skip]
            os.fchown(descriptor, uid, gid)
        for name in (*directories, *names):
            if top and name in skip:
                continue
            seen += 1
            if seen > SWEPT_LIMIT:
                return
            facts = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if facts.st_uid == 0:
                os.chown(name, uid, gid, dir_fd=descriptor, follow_symlinks=False)
