"""Permanently allowed commands: exactly one each, in one folder, by one program with the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hub.core.errors import LimitExceeded, NotFound
from hub.core.ids import new_id
from hub.integration.json_storage import JsonStorage
from integrations.tools.shell.binding import BoundCommand

RULES_LIMIT = 500


class AllowedCommands:
    """The rules, in memory and on disk.

    Args:
        storage: Stores them.
        wall_time: Seconds since the epoch.
    """

    def __init__(self, storage: JsonStorage, wall_time: Callable[[], float]) -> None:
        self._storage, self._wall_time = storage, wall_time
        self._rules: list[dict[str, Any]] = []

    async def open(self) -> None:
        """Load the rules.

        Raises:
            HubError: It cannot be read.
        """
        self._rules = await self._storage.load([])

    def all(self) -> list[dict[str, Any]]:
        """Return the rules, oldest first."""
        return list(self._rules)

    def has(self, agent_id: str) -> Callable[[BoundCommand], bool]:
        """Return a function that reports whether an agent's command is allowed."""
        rules = [each for each in self._rules if each["agent"] == agent_id]
        return lambda bound: any(each["exactly"] == _exactly(bound) for each in rules)

    async def add(self, agent_id: str, bound: BoundCommand, by: str) -> None:
        """Allow a command for good; it is on disk when this returns.

        Raises:
            LimitExceeded: There are too many rules.
            HubError: The disk refuses it.
        """
        if len(self._rules) >= RULES_LIMIT:
            raise LimitExceeded(f"{RULES_LIMIT} commands are allowed for good already; remove some")
        rule = {
            "id": new_id()[-8:].lower(),
            "agent": agent_id,
            "exactly": _exactly(bound),
            "by": by,
            "created_ms": int(self._wall_time() * 1000),
        }
        await self._save([*self._rules, rule])

    async def remove(self, id: str) -> dict[str, Any]:
        """Remove a rule, so that the command needs approval again; return it.

        Raises:
            NotFound: There is no such rule.
        """
        found = next((each for each in self._rules if each["id"] == id), None)
        if found is None:
            raise NotFound(f"no command is allowed under {id[:40]!r}; `homarus exec rules list` shows those that are")
        await self._save([each for each in self._rules if each is not found])
        return found

    async def _save(self, rules: list[dict[str, Any]]) -> None:
        await self._storage.save(rules)
        self._rules = rules


def _exactly(bound: BoundCommand) -> dict[str, Any]:
    return {
        "argv": list(bound.command.words),
        "program": bound.path,
        "sha256": bound.digest,
        "workdir": bound.workdir,
        "files": dict(bound.files),
    }
