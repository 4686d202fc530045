"""`migrate.*`: plan a move, carry it out, take it back. For owners alone: it reads folders of the hub's machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hub.core.errors import Forbidden, InvalidRequest
from hub.core.first_use import FirstUse
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, boolean, slug, string
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.migrate.job import SOURCES, MoveJob
from hub.migrate.moves import Moves
from hub.migrate.nearby import folders_nearby
from hub.migrate.uploads import UPLOADED, uploaded_file

OWNER = "gateway"
_WANTED = {
    Required("source", description="What is moved from."): In(SOURCES),
    Required(
        "path",
        description="The folder, its archive or an export, on the hub's machine; or `uploaded`, the file sent last.",
    ): All(string, Length(min=1, max=4_096)),
    Optional("secrets", default=False, description="Whether passwords, keys and tokens come along."): boolean,
    Optional("off", default=False, description="Whether automations come switched off."): boolean,
    Optional("agent", default="main", description="The agent that gets conversations."): slug,
}


class MigrateMethods:
    """The methods of moving in.

    Args:
        moves: The moves.
        home: The home directory.
    """

    def __init__(self, moves: FirstUse[Moves], home: str) -> None:
        self._moves = moves
        self._home = home

    def methods(self) -> list[Method]:
        """Return the methods."""
        plan, none = Schema(_WANTED), Schema({})
        apply = Schema(
            {
                **_WANTED,
                Optional("digest", description="Of the plan that was shown; another one is refused then."): All(
                    string, Length(max=64)
                ),
            }
        )
        undo = Schema({Optional("force", default=False, description="Put back what was changed since, too."): boolean})
        return [
            Method("migrate.plan", self._plan, OWNER, plan, ADMIN),
            Method("migrate.apply", self._apply, OWNER, apply, ADMIN, acts=True),
            Method("migrate.undo", self._undo, OWNER, undo, ADMIN, acts=True),
            Method("migrate.list", self._list, OWNER, none, ADMIN),
        ]

    async def _plan(self, call: MethodCall) -> Mapping[str, Any]:
        moves = await self._owned(call)
        return (await moves.plan(self._job(call.params))).as_dict()

    async def _apply(self, call: MethodCall) -> Mapping[str, Any]:
        moves = await self._owned(call)
        return await moves.apply(self._job(call.params), call.params.get("digest"), call.context.authority.person)

    async def _undo(self, call: MethodCall) -> Mapping[str, Any]:
        moves = await self._owned(call)
        return await moves.undo(force=call.params["force"])

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        moves = await self._owned(call)
        shown = ("id", "source", "path", "begun_ms", "state", "counts")
        found = [msgspec.to_builtins(each) for each in await moves.list()]
        nearby = await asyncio.to_thread(lambda: [*folders_nearby(Path.home())])
        return {"moves": [{key: each[key] for key in shown} for each in found], "nearby": nearby}

    def _job(self, params: Mapping[str, Any]) -> MoveJob:
        path = Path(params["path"]).expanduser()
        if params["path"] == UPLOADED:
            path = uploaded_file(Path(self._home))
        if not path.is_absolute():
            raise InvalidRequest(phrase("{path} is not absolute; name the whole path on the hub's machine", path=path))
        return MoveJob(
            params["source"],
            str(path),
            self._home,
            secrets=params["secrets"],
            switched_off=params["off"],
            agent=params["agent"],
        )

    async def _owned(self, call: MethodCall) -> Moves:
        if not call.context.authority.owner:
            raise Forbidden(phrase("Moving in changes all of a home; only an owner may do it."))
        return await self._moves.get()
