"""The sandboxes of this hub: who needs one, which engine makes it, and how long it is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import Conflict, Forbidden, LimitExceeded, NotFound, Unavailable
from hub.core.executors import FILES
from hub.core.tasks import TaskOwner
from hub.sandbox.contract import Sandbox, SandboxEngine, SandboxInfo
from hub.sandbox.disk import BoundedSandbox
from hub.sandbox.places import SandboxPlaces
from hub.sandbox.settings import SandboxSettings
from hub.tools.contract import ToolCall

LOCKS = 16
SANDBOXES_LIMIT = 32
IDLE_S = 24 * 3_600.0
AGE_S = 7 * 24 * 3_600.0
"""How many there are at once, and when one is removed: not used for a day, or a week old."""


class _Kept:
    """An open sandbox, with its specification."""

    def __init__(self, sandbox: Sandbox, engine: SandboxEngine, digest: str, session_key: str, now: float) -> None:
        self.sandbox, self.engine, self.digest, self.session_key = sandbox, engine, digest, session_key
        self.opened = self.used = now


class EngineState(Struct, frozen=True):
    """An engine, and why it cannot make a sandbox for an agent; empty if it can."""

    name: str
    problem: str


class Sandboxes:
    """Assigns each call the sandbox that its agent and conversation must use.

    Args:
        settings: Returns the settings of an agent.
        places: Makes the directories of sandboxes, and decides what is visible inside.
        clock: Gives the idle time of a sandbox.
        mandatory: Whether no program runs in the hub, whatever the settings say: other homes are there.
    """

    def __init__(
        self,
        settings: Callable[[str], SandboxSettings],
        places: SandboxPlaces,
        clock: Clock,
        *,
        mandatory: bool = False,
    ) -> None:
        self.mandatory = mandatory
        self._settings, self.places, self._clock = settings, places, clock
        self._engines: dict[str, SandboxEngine] = {}
        self._open: dict[str, _Kept] = {}
        self._tasks = TaskOwner("files of sandboxes")
        self._locks = tuple(asyncio.Lock() for _ in range(LOCKS))

    def add(self, engine: SandboxEngine) -> Callable[[], None]:
        """Add an engine; the returned function removes it.

        Raises:
            Conflict: There is one with that name.
        """
        if engine.name in self._engines:
            raise Conflict(f"there is a sandbox engine {engine.name} already")
        self._engines[engine.name] = engine

        def remove() -> None:
            if self._engines.get(engine.name) is engine:
                del self._engines[engine.name]
                self._open = {name: kept for name, kept in self._open.items() if kept.engine is not engine}

        return remove

    async def of(self, call: ToolCall) -> Sandbox | None:
        """Return the sandbox for a call's programs; None if they may run in the hub.

        Raises:
            Forbidden: They must not run in the hub, and the agent has no sandbox.
            Unavailable: They need a sandbox, and no engine makes one.
        """
        settings, authority = self._settings(call.agent_id), call.context.authority
        if settings.mode == "off" and settings.must(authority):
            why = (
                "text that others wrote is in this conversation"
                if authority.tainted
                else "the owner did not ask for it"
            )
            raise Forbidden(f"programs must run in a sandbox here ({why}), and agents[].sandbox.mode is off")
        if not (self.mandatory or settings.must(authority) or settings.by_mode(call.session_key, authority)):
            return None
        return await self.open(call.agent_id, call.session_key)

    async def open(self, agent_id: str, session_key: str) -> Sandbox:
        """Return the sandbox of an agent's conversation, made on first use.

        Raises:
            Unavailable: No engine makes one.
            LimitExceeded: There are too many.
        """
        return await self._opened(agent_id, session_key, self._settings(agent_id))

    async def for_browser(self, agent_id: str, profile: str, *, private: bool) -> tuple[Sandbox, Path]:
        """Return a sandbox for one browser, with a network, and the directory that is `/workspace` in it.

        The directory has the same path inside, too. Raises as `open` does.
        """
        settings = self._settings(agent_id).for_browser(profile, private=private)
        sandbox = await self._opened(agent_id, "", settings)
        return sandbox, Path((await FILES.run(self.places.own_files, agent_id, "", settings)).path)

    def confines(self, agent_id: str, session_key: str, authority: Authority) -> bool:
        """Whether a whole conversation is confined to its sandbox."""
        return self.mandatory or self._settings(agent_id).confines(session_key, authority)

    async def _opened(self, agent_id: str, session_key: str, settings: SandboxSettings) -> Sandbox:
        name = self.places.name(agent_id, session_key, settings)
        if name not in self._open and len(self._open) >= SANDBOXES_LIMIT:
            await self._make_room()
        async with self._lock(name):
            engine = await self._engine(settings)
            spec = await self.places.spec(agent_id, session_key, settings, settings.engines[engine.name])
            kept, now = self._open.get(name), self._clock.time()
            if kept is not None and kept.engine is engine and kept.digest == spec.digest:
                kept.used = now
                return kept.sandbox
            if kept is not None and kept.engine is not engine:
                await kept.engine.remove(name)
            limit = settings.engines[engine.name]["disk"]
            sandbox = BoundedSandbox(await engine.open(spec), spec.mounts[0].source, limit, self._tasks)
            self._open[name] = _Kept(sandbox, engine, spec.digest, spec.session_key, now)
            return sandbox

    async def close(self) -> None:
        """Stop watching; engines remove their sandboxes."""
        await self._tasks.cancel_all()

    async def engines(self, agent_id: str) -> list[EngineState]:
        """Return the engines that an agent may use, the preferred one first."""
        found = []
        for name, settings in self._settings(agent_id).engines.items():
            engine = self._engines.get(name)
            problem = f"the integration {name} is not set up" if engine is None else await engine.available(settings)
            found.append(EngineState(name, problem or ""))
        return found

    async def all(self) -> list[tuple[str, SandboxInfo]]:
        """Return all sandboxes with the names of their engines."""
        return [(engine.name, each) for engine in [*self._engines.values()] for each in await engine.all()]

    async def remove(self, name: str) -> None:
        """Remove a sandbox; it is made again from the configuration on next use. Its files stay.

        Raises:
            NotFound: There is none with that name.
        """
        for engine, each in await self.all():
            if each.name == name:
                await self._remove(self._engines[engine], name)
                return
        raise NotFound(f"there is no sandbox {name}; `homarus sandbox list` shows those there are")

    async def prune(self, *, idle_s: float = IDLE_S, age_s: float = AGE_S) -> list[str]:
        """Remove idle, old and unused sandboxes without running programs.

        Returns:
            The names of those that were removed.
        """
        now, removed = self._clock.time(), []
        for engine, each in await self.all():
            kept = self._open.get(each.name)
            fresh = kept is not None and now - kept.used < idle_s and now - kept.opened < age_s
            if fresh or (kept is not None and kept.sandbox.busy):
                continue
            await self._remove(self._engines[engine], each.name)
            removed.append(each.name)
        return removed

    async def forget(self, session_key: str) -> None:
        """Remove a deleted conversation's own sandbox, files included."""
        for name, kept in [*self._open.items()]:
            if kept.session_key == session_key:
                await self._remove(kept.engine, name)
        await self.places.forget(session_key)

    async def _engine(self, settings: SandboxSettings) -> SandboxEngine:
        problems = []
        for name, mine in settings.engines.items():
            engine = self._engines.get(name)
            problem = "its integration is not set up" if engine is None else await engine.available(mine)
            if engine is not None and problem is None:
                return engine
            problems.append(f"{name}: {problem}")
        raise Unavailable(f"this needs a sandbox, and none can be made. {'; '.join(problems)}. See docs/sandbox.md")

    async def _remove(self, engine: SandboxEngine, name: str) -> None:
        async with self._lock(name):
            self._open.pop(name, None)
            await engine.remove(name)

    def _lock(self, name: str) -> asyncio.Lock:
        """Return the lock for making and removing a sandbox; some names share one."""
        return self._locks[crc32(name.encode()) % LOCKS]

    async def _make_room(self) -> None:
        idle = sorted((kept.used, name) for name, kept in self._open.items() if not kept.sandbox.busy)
        if not idle:
            raise LimitExceeded(f"{SANDBOXES_LIMIT} sandboxes are in use; end what runs in one of them")
        _, name = idle[0]
        await self._remove(self._open[name].engine, name)
