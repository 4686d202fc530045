"""Workspaces: an agent's directory, its first files, its part in prompts, and who sees what."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from hub.agent.agents import Agent, Agents
from hub.agent.prompt.prompt import PromptFile
from hub.agent.taint.outside_files import OutsideFiles
from hub.core.clock import Clock
from hub.core.context import Authority, Context
from hub.core.executors import FILES
from hub.core.ids import new_id
from hub.memory.front_matter import holds_outside_words
from hub.memory.places import CURATED, FOLDER, GROUPS, PEOPLE
from hub.sandbox.places import SandboxPlaces, WorkspaceRules
from hub.security.jail_path import PathRefused
from hub.security.people import People
from hub.security.root import Root
from hub.sessions.privacy import is_private
from hub.storage.errors import StorageError
from hub.storage.files import write_atomic
from hub.storage.homedir import Home
from hub.tools.contract import ToolCall

_log = logging.getLogger(__name__)

SEEDED = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md")
BOOTSTRAP = "BOOTSTRAP.md"
ALWAYS = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md")
"""In every prompt, with a mark when missing. HEARTBEAT.md is for heartbeats alone."""

PRIVATE = (CURATED, FOLDER)
"""What only an owner's private session sees as files."""

OTHERS = (PEOPLE, GROUPS)
"""The memory of persons and groups: hidden from file tools, visible to each of them through the memory tools."""

MEDIA = "media"
"""Attachments, in one folder for each conversation."""

CANVAS = "canvas"
"""Pages that are shown, which run scripts unless they are known to have words from outside."""

SANDBOX_RULES = WorkspaceRules(
    covered_files=(CURATED,),
    covered_directories=(FOLDER, MEDIA),
    fixed_files=(*ALWAYS, BOOTSTRAP, "HEARTBEAT.md", "BOOT.md"),
    fixed_directories=("skills", "hooks", CANVAS),
)
"""What a sandbox that writes into a workspace neither sees nor changes."""

BYTES_PER_CHAR = 4
DAYS = 2
QUARTER_S = 900.0

_Sign = tuple[str, int, int, int]


class Workspaces:
    """Manages the workspaces of all agents.

    Args:
        agents: The agents as configured now.
        people: The people of this home as configured now; decides which sessions are private.
        home: Records which workspaces have their initial files.
        clock: Gives the day, for the memory of today and yesterday.
        zone: The home's time zone, as configured now.
        twelve_hours: Whether its people write times as 3:30 pm.
        fire: Announces pictures and films that were kept.

    Attributes:
        outside: Which of their files hold words from outside.
        sandboxes: Have the files of sandboxes.
    """

    def __init__(
        self,
        agents: Agents,
        people: Callable[[], People],
        home: Home,
        clock: Clock,
        zone: Callable[[], tzinfo] = lambda: UTC,
        twelve_hours: Callable[[], bool] = lambda: False,
        fire: Callable[[str, dict[str, Any], Context], object] = lambda *_: None,
    ) -> None:
        self.agents = agents
        self._people = people
        self._home = home
        self._clock = clock
        self.zone = zone
        self.twelve_hours = twelve_hours
        self._fire = fire
        self.outside = OutsideFiles(home)
        folder = home.storage / "sandboxes"
        self.sandboxes = SandboxPlaces(home.path, folder, lambda id: agents.get(id).workspace, SANDBOX_RULES)
        self._named_days: tuple[object, list[str]] = (None, [])
        self._ready: set[tuple[str, Path]] = set()
        self._files: dict[tuple[str, bool, int], tuple[dict[_Sign, PromptFile | None], tuple[PromptFile, ...]]] = {}

    async def keep_from_outside(self, call: ToolCall, data: bytes, suffix: str) -> str:
        """Keep a file that a device made with the attachments of a conversation; return its path in the workspace."""
        from hub.entities.pictures import EVENT_KEPT

        path = f"{media_folder(call.session_key)}/node-{new_id()}{suffix}"
        await FILES.run(self._write_from_outside, call.agent_id, path, data)
        self._fire(EVENT_KEPT, {"file": path, "agent_id": call.agent_id}, call.context)
        return path

    def _write_from_outside(self, agent_id: str, path: str, data: bytes) -> None:
        self.ensure(agent_id)
        self.outside.mark(agent_id, path, data)
        self.root(agent_id).write_bytes(path, data, parents=True, executable=False)

    def is_private(self, session_key: str, authority: Authority) -> bool:
        """Whether a session is an owner's private one, which alone sees the home's memory."""
        return is_private(session_key, authority, self._people())

    def is_ready(self, agent_id: str) -> bool:
        """Whether `ensure` was done for an agent since the start."""
        return (agent_id, self.agents.get(agent_id).workspace) in self._ready

    def ensure(self, agent_id: str) -> list[str]:
        """Create an agent's workspace with its first files, once; existing files stay, and deleted ones stay deleted.

        Blocks; call it in a thread where others wait.

        Returns:
            The files that were written.

        Raises:
            NotFound: There is no such agent.
            StorageError: The directory cannot be made or written.
        """
        agent = self.agents.get(agent_id)
        self.refuse_unfit(agent.workspace, agent.id)
        try:
            written = self._furnish(agent)
        except OSError as error:
            raise StorageError(
                f"The workspace {agent.workspace} of agent {agent.id} cannot be made: {error.strerror or error}. "
                "Choose another with agents[].workspace, or fix its permissions.",
                details={"file": str(agent.workspace)},
            ) from error
        self._ready.add((agent.id, agent.workspace))
        return written

    def view(self, agent_id: str, session_key: str, authority: Authority) -> Root:
        """Return the workspace as a session may see it: memory only in an owner's private session, and only the home's.

        A conversation confined to a sandbox sees the sandbox's files instead.

        Raises:
            NotFound: There is no such agent.
            StorageError: The workspace cannot be made.
        """
        agent = self.agents.get(agent_id)
        if agent.sandbox.own_files and agent.sandbox.confines(session_key, authority):
            return self.sandboxes.own_files(agent_id, session_key, agent.sandbox)
        workspace = self.folder(agent_id, session_key, authority)
        hidden = OTHERS if self.is_private(session_key, authority) else PRIVATE
        return Root(workspace, (*hidden, *_media_of_others(workspace, session_key)))

    def folder(self, agent_id: str, session_key: str, authority: Authority) -> Path:
        """Return where the files lie that a session may see some of; see `view`."""
        agent = self.agents.get(agent_id)
        if agent.sandbox.own_files and agent.sandbox.confines(session_key, authority):
            return self.sandboxes.own_files(agent_id, session_key, agent.sandbox).path
        if (agent_id, agent.workspace) not in self._ready:
            self.ensure(agent_id)
        return agent.workspace

    def sendable(self, agent_id: str, session_key: str, authority: Authority, path: str) -> Path:
        """Return a file that a session may see, in a form that can be read later by its path alone.

        What programs in a sandbox could replace with a link in the meantime is copied out of their reach. Blocks.

        Raises:
            HubError: The session may not see it, or it is too large.
            OSError: There is no such plain file.
        """
        root, settings = self.view(agent_id, session_key, authority), self.agents.get(agent_id).sandbox
        if settings.own_files and not settings.confines(session_key, authority):
            return root.path / path
        data = root.read_bytes(path)
        if not self.is_ready(agent_id):
            self.ensure(agent_id)
        copy = f"{media_folder(session_key)}/{sha256(data).hexdigest()[:16]}{Path(path).suffix[:16]}"
        self.root(agent_id).write_bytes(copy, data, parents=True, executable=False)
        return self.root(agent_id).path / copy

    def root(self, agent_id: str) -> Root:
        """Return the whole workspace, for the hub itself.

        Raises:
            NotFound: There is no such agent.
        """
        return Root(self.agents.get(agent_id).workspace)

    def prompt_files(self, agent_id: str, private: bool) -> tuple[PromptFile, ...]:
        """Return the files that are in an agent's prompts, those that change most often last.

        The same object is returned until one of them changes: a call costs a look at each file's facts, and the
        reading of what changed.

        Args:
            agent_id: The agent.
            private: Whether it is for an owner's private session, which sees the memory.
        """
        agent = self.agents.get(agent_id)
        # The first conversation is the owner's; no one else could save its outcome.
        names = [*ALWAYS, BOOTSTRAP, CURATED, *self._days()] if private else ALWAYS
        signs = _signs(agent.workspace, names)
        key = (agent_id, private, agent.prompt.file_chars)
        before, files = self._files.get(key, ({}, ()))
        if signs == list(before):
            return files
        root = Root(agent.workspace)
        read: dict[_Sign, PromptFile | None] = {}
        for sign in signs:
            known = before.get(sign)
            if sign not in before or (known is not None and known.note is not None):
                known = _prompt_file(root, sign[0], sign[2], agent.prompt.file_chars)
            read[sign] = known
        files = tuple([file for file in read.values() if file is not None])
        self._files[key] = (read, files)
        return files

    def _days(self) -> list[str]:
        """Return the files of the last days; in every time zone, midnight falls on a quarter of an hour."""
        now, zone = self._clock.time(), self.zone()
        quarter = (now // QUARTER_S, zone)
        if self._named_days[0] != quarter:
            today = datetime.fromtimestamp(now, zone).date()
            days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
            self._named_days = (quarter, [f"{FOLDER}/{day:%Y-%m-%d}.md" for day in days])
        return self._named_days[1]

    def refuse_unfit(self, path: Path | str, id: str) -> None:
        """Refuse a workspace that holds the home directory, lies among the hub's own files, or is a file.

        Tools read everything in a workspace: secrets, the hub token and other people's conversations would be exposed.

        Args:
            path: The workspace, perhaps with `~`; one that is not absolute is in the home directory.
            id: The agent.

        Raises:
            StorageError: It cannot be the workspace of an agent.
        """
        home = self._home.path.resolve()
        workspace = (home / Path(path).expanduser()).resolve()
        problem = ""
        if home == workspace or workspace in home.parents or workspace.is_relative_to(home / self._home.storage.name):
            problem = "would show the agent the hub's own files"
        elif workspace.exists() and not workspace.is_dir():
            problem = "is not a directory"
        if problem:
            raise StorageError(
                f"The workspace {path} of agent {id} {problem}. Choose a directory of its own with agents[].workspace.",
                details={"file": str(path)},
            )

    def _furnish(self, agent: Agent) -> list[str]:
        workspace = agent.workspace
        fresh = not workspace.exists() or not any(workspace.iterdir())
        workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not agent.seed_workspace:
            return []
        note = self._home.agent(agent.id) / "furnished"
        if not fresh and note.exists() and note.read_text(encoding="utf-8", errors="replace") == str(workspace):
            return []
        names = (*SEEDED, BOOTSTRAP) if fresh else SEEDED
        written = []
        for name in names:
            path = workspace / name
            if path.exists() or path.is_symlink():
                continue
            write_atomic(path, template(name, agent.name))
            written.append(name)
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(note, str(workspace).encode())
        if written:
            _log.info("wrote the first files of the workspace %s of agent %s", workspace, agent.id)
        return written


def template(name: str, agent_name: str) -> bytes:
    """Return the initial content of a workspace file, for an agent of this name."""
    text = files("hub.agent.workspace").joinpath("templates", name).read_text(encoding="utf-8")
    return text.replace("{name}", agent_name).encode()


def _signs(workspace: Path, names: Iterable[str]) -> list[_Sign]:
    """Return name, time, size and number of each file, by which changes are seen; its size is -1 when there is none."""
    signs, folder = [], str(workspace)
    for name in names:
        try:
            found = os.stat(f"{folder}/{name}", follow_symlinks=False)
        except OSError:
            signs.append((name, 0, -1, 0))
        else:
            signs.append((name, found.st_mtime_ns, found.st_size, found.st_ino))
    return signs


def _prompt_file(root: Root, name: str, size: int, chars: int) -> PromptFile | None:
    """Return a file for the prompt; None for an empty one, or one that need not be there."""
    needed = name in ALWAYS
    if size <= 0 and not needed:
        return None
    if size < 0:
        return PromptFile(name, None)
    limit = chars * BYTES_PER_CHAR
    try:
        text = _read(root, name, limit)
    except FileNotFoundError:
        return PromptFile(name, None) if needed else None
    except (OSError, PathRefused) as error:
        return PromptFile(name, "", note=f"cannot be read: {error}")
    if name.startswith((CURATED, f"{FOLDER}/")) and holds_outside_words(text):
        return PromptFile(name, "", note="holds text that others wrote and is not shown here; memory_get reads it")
    if not text.strip() and size <= limit:
        return None
    return PromptFile(name, text[:chars], max(len(text), size if size > limit else 0))


def _read(root: Root, name: str, limit: int) -> str:
    descriptor = root.open(name)
    try:
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limit)
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace").lstrip("\ufeff")


def media_folder(session_key: str) -> str:
    """Return the folder of a conversation's attachments, relative to the workspace."""
    return f"{MEDIA}/{sha256(session_key.encode()).hexdigest()[:16]}"


def _media_of_others(workspace: Path, session_key: str) -> list[str]:
    """Return the attachment folders of all other conversations."""
    try:
        names = os.listdir(f"{workspace}/{MEDIA}")
    except OSError:
        return []
    own = media_folder(session_key)
    return [folder for name in names if (folder := f"{MEDIA}/{name}") != own]
