"""`update.*`: what runs, what is there, and the update itself. For owners alone: it replaces all of the program."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub import __version__
from hub.core.errors import Conflict, Forbidden
from hub.core.first_use import FirstUse
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Schema, string
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.core.tasks import TaskOwner
from hub.update.updates import Updates, run_error

OWNER = "gateway"
_VERSION = {
    Optional("version", default="", description="Such as 0.2.1; the newest without it."): All(string, Length(max=50))
}


class UpdateMethods:
    """The methods of updates.

    Args:
        updates: The updates.
        tasks: Owner of an update that nobody waits for.
        look: Asks for the newest version, and sees to repairs and the entity.
        can_switch: Whether this process can become another version.
    """

    def __init__(
        self,
        updates: FirstUse[Updates],
        tasks: TaskOwner,
        look: Callable[[str], Awaitable[Any]],
        *,
        can_switch: Callable[[], bool],
    ) -> None:
        self._updates = updates
        self._tasks = tasks
        self._look = look
        self._can_switch = can_switch

    def methods(self) -> list[Method]:
        """Return the methods."""
        version = Schema(_VERSION)
        return [
            Method("update.status", self._status, OWNER, Schema({}), ADMIN),
            Method("update.check", self._check, OWNER, version, ADMIN),
            Method("update.run", self._run, OWNER, version, ADMIN, acts=True),
        ]

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        updates = await self._updates.get()
        told = await asyncio.to_thread(updates.status)
        newest, last = told["newest"], told["last"]
        # The first two as OpenClaw's clients read them.
        available = None if newest is None else {"currentVersion": __version__, "latestVersion": newest["version"]}
        sentinel = None if last is None else {"kind": "update", "status": last["state"], "ts": last["begun_ms"]}
        return {"sentinel": sentinel, "updateAvailable": available, **told}

    async def _check(self, call: MethodCall) -> Mapping[str, Any]:
        updates = await self._owned(call)
        found = await self._look(call.params["version"])
        told = await asyncio.to_thread(updates.status)
        return {"release": None if found is None else {**_release(found)}, **told}

    async def _run(self, call: MethodCall) -> Mapping[str, Any]:
        updates = await self._owned(call)
        if updates.place.why_not:
            raise Conflict(updates.place.why_not)
        if not self._can_switch():
            raise Conflict(
                phrase("This hub was not started by homarus start, so it cannot replace itself. Stop it, then update.")
            )
        if updates.work is not None:
            raise Conflict(phrase("An update is going on already."))
        task = self._tasks.spawn(updates.run(call.params["version"]), name="update")
        task.add_done_callback(run_error)
        await asyncio.sleep(0)  # it has begun when this answers
        return {"started": True}

    async def _owned(self, call: MethodCall) -> Updates:
        if not call.context.authority.owner:
            raise Forbidden(phrase("An update replaces the whole program; only an owner may look for it and make it."))
        return await self._updates.get()


def _release(found: Any) -> dict[str, Any]:
    return {"version": found.version, "notes": found.notes, "signature": found.signature}
