"""`repairs.list|fix|ignore`: open problems, known changes that solve some, and ignored ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hub.core.errors import InvalidRequest, NotFound
from hub.core.executors import DOCUMENTS
from hub.core.phrases import phrase
from hub.core.repairs import Repair, Repairs
from hub.core.schema import All, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import ADMIN, READ, Method, MethodCall
from hub.gateway.calls.dispatch import Dispatcher
from hub.gateway.connection.server import Gateway
from hub.storage.versioned_file import VersionedFile

OWNER = "gateway"
IGNORED_LIMIT = 500

_ONE = {
    Required("source"): All(string, Length(min=1, max=128)),
    Required("id"): All(string, Length(min=1, max=1_024)),
}


class RepairMethods:
    """The methods.

    Args:
        gateway: Whose methods mend something; it redacts what is listed.
        repairs: The open repairs.
        file: Records the ignored ones.
    """

    def __init__(self, gateway: Gateway, repairs: Repairs, file: VersionedFile) -> None:
        self._gateway = gateway
        self._repairs = repairs
        self._file = file
        self._changing = asyncio.Lock()

    def methods(self) -> list[Method]:
        """Return the methods."""
        ignore = Schema({**_ONE, Optional("ignored", default=True): boolean})
        return [
            Method("repairs.list", self._list, OWNER, Schema({}), READ),
            Method("repairs.fix", self._fix, OWNER, Schema(_ONE), ADMIN, acts=True),
            Method("repairs.ignore", self._ignore, OWNER, ignore, ADMIN, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        shown = [each.as_dict() | {"ignored": self._repairs.is_ignored(each)} for each in self._repairs.all()]
        redactor = self._gateway.broadcast.redactor
        return {"repairs": redactor.redact_data(shown) if redactor is not None else shown}

    async def _fix(self, call: MethodCall) -> Mapping[str, Any]:
        repair = self._found(call)
        if repair.fix is None:
            raise InvalidRequest(phrase("No known change mends this: {title}", title=repair.title))
        dispatcher: Dispatcher = self._gateway.dispatcher
        method, prepared = dispatcher.prepare(repair.fix.method, repair.fix.params, call.caller)
        await dispatcher.run(method, prepared)
        return {"ok": True, "open": self._repairs.get(repair.source, repair.id) is not None}

    async def _ignore(self, call: MethodCall) -> Mapping[str, Any]:
        repair = self._found(call)
        key = (repair.source, repair.id, str(repair.title))
        async with self._changing:
            others = [each for each in self._repairs.ignored if each != key]
            wanted = [*others, key][-IGNORED_LIMIT:] if call.params["ignored"] else others
            await DOCUMENTS.run(self._file.write, [list(each) for each in wanted])
            self._repairs.ignore(wanted)
        return {"ok": True}

    def _found(self, call: MethodCall) -> Repair:
        repair = self._repairs.get(call.params["source"], call.params["id"])
        if repair is None:
            raise NotFound(phrase("This problem is not open any more."))
        return repair
