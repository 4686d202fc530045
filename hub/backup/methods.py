"""`backup.*`: make, list, check, delete and restore backups. For owners alone: a backup holds all of a home."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from hub.backup.backups import LOCAL, REPLACED_KEPT_S, Backups
from hub.backup.swap import replaced_home
from hub.core.errors import Conflict, Forbidden, HubError
from hub.core.first_use import FirstUse
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.core.tasks import TaskOwner

OWNER = "gateway"
_SOURCE = All(string, Length(min=1, max=4_096))
_PASSPHRASE = All(string, Length(max=1_024))
_READ = {
    Required("source", description="The name of a backup, or the absolute path of an archive on the hub's machine."): (
        _SOURCE
    ),
    Optional("passphrase", default="", description="Of an encrypted one; the configured one without it."): _PASSPHRASE,
}
RESTART_S = 0.5
"""The answer is on its way before the hub ends."""


class BackupMethods:
    """The methods of backups.

    Args:
        backups: The backups.
        tasks: Owner of a backup that nobody waits for.
        next_ms: Returns when the next scheduled one is due.
        create: Makes one and sees to the repairs.
        restart: Lets a new hub replace this one.
    """

    def __init__(
        self,
        backups: FirstUse[Backups],
        tasks: TaskOwner,
        next_ms: Callable[[], int | None],
        create: Callable[[], Awaitable[Mapping[str, Any]]],
        restart: Callable[[], None],
    ) -> None:
        self._backups = backups
        self._tasks = tasks
        self._next_ms = next_ms
        self._create = create
        self._restart = restart

    def methods(self) -> list[Method]:
        """Return the methods."""
        read, none = Schema(_READ), Schema({})
        create = Schema({Optional("wait", default=False, description="Answer when it is made."): boolean})
        delete = Schema({Required("name"): _SOURCE})
        return [
            Method("backup.status", self._status, OWNER, none, ADMIN),
            Method("backup.list", self._list, OWNER, none, ADMIN),
            Method("backup.create", self._start, OWNER, create, ADMIN, acts=True),
            Method("backup.verify", self._verify, OWNER, read, ADMIN),
            Method("backup.preview", self._preview, OWNER, read, ADMIN),
            Method("backup.restore", self._restore, OWNER, read, ADMIN, acts=True),
            Method("backup.goBack", self._go_back, OWNER, none, ADMIN, acts=True),
            Method("backup.forgetReplaced", self._forget, OWNER, none, ADMIN, acts=True),
            Method("backup.delete", self._delete, OWNER, delete, ADMIN, acts=True),
        ]

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        backups = await self._owned(call)
        state = await asyncio.to_thread(backups.state)
        replaced = await asyncio.to_thread(_replaced, backups)
        work, settings = backups.work, backups.settings
        return {
            "working": None if work is None else msgspec.to_builtins(work),
            "last": None if state.last is None else msgspec.to_builtins(state.last),
            "goodMs": state.good_ms or None,
            "nextMs": self._next_ms(),
            "folder": str(backups.folder),
            "places": [{"kind": each.kind, "title": each.title} for each in backups.places()],
            "encrypted": bool(settings.passphrase),
            "keep": dict(settings.config["keep"]),
            "schedule": dict(settings.config["schedule"]),
            "replaced": replaced,
        }

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        backups = await self._owned(call)
        found, failed = await backups.find_all()
        titles = {LOCAL: str(backups.folder)} | {each.kind: each.title for each in backups.places()}
        shown = [
            {
                "name": each.name,
                "madeMs": each.made_ms,
                "encrypted": each.encrypted,
                "sizeBytes": each.size_bytes,
                "places": each.places,
                "own": each.own,
            }
            for each in found
        ]
        return {"backups": shown, "titles": titles, "failed": failed}

    async def _start(self, call: MethodCall) -> Mapping[str, Any]:
        backups = await self._owned(call)
        if call.params["wait"]:
            return {"run": await self._create()}
        if backups.work is not None and backups.work.what not in ("create", "copy"):
            raise Conflict(phrase("A backup or a restore is going on already; wait until it has ended."))
        if backups.work is None:
            self._tasks.spawn(self._quietly(), name="backup")
            await asyncio.sleep(0)  # it has begun when this answers
        return {"started": True}

    async def _quietly(self) -> None:
        try:
            await self._create()
        except HubError:
            return  # it is remembered as the last one, and a repair says so

    async def _verify(self, call: MethodCall) -> Mapping[str, Any]:
        backups = await self._owned(call)
        return await backups.verify(call.params["source"], call.params["passphrase"])

    async def _preview(self, call: MethodCall) -> Mapping[str, Any]:
        backups = await self._owned(call)
        return await backups.preview(call.params["source"], call.params["passphrase"])

    async def _restore(self, call: MethodCall) -> Mapping[str, Any]:
        backups = await self._owned(call)
        staged = await backups.restore(call.params["source"], call.params["passphrase"])
        self._restart_soon()
        return staged

    async def _go_back(self, call: MethodCall) -> Mapping[str, Any]:
        backups = await self._owned(call)
        await backups.go_back()
        self._restart_soon()
        return {"ok": True}

    async def _forget(self, call: MethodCall) -> Mapping[str, Any]:
        backups = await self._owned(call)
        return {"deleted": await backups.delete_replaced_home()}

    async def _delete(self, call: MethodCall) -> Mapping[str, Any]:
        backups = await self._owned(call)
        return {"name": call.params["name"], "places": await backups.delete(call.params["name"])}

    async def _owned(self, call: MethodCall) -> Backups:
        if not call.context.authority.owner:
            raise Forbidden(phrase("Backups hold all of a home; only an owner may make, read and restore them."))
        return await self._backups.get()

    def _restart_soon(self) -> None:
        asyncio.get_running_loop().call_later(RESTART_S, self._restart)


def _replaced(backups: Backups) -> Mapping[str, Any] | None:
    """Return the home that the last restore replaced, and until when it is kept."""
    found = replaced_home(backups.home)
    if found is None:
        return None
    return {"path": str(found), "untilMs": int((found.stat().st_ctime + REPLACED_KEPT_S) * 1000)}
