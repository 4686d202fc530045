"""The memory of another assistant, brought in by the browser: an export that is uploaded, or a folder of the hub."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from hub.memory.importing import BroughtIn, read_claude, read_openclaw
from web.core.form import read_fields
from web.core.method_client import MethodClient

NOTES_SHOWN = 20
FOLDER = "~/.openclaw"
FIELDS = Schema(
    {
        Required("origin"): In(["openclaw", "claude"]),
        Optional("folder", default=""): All(string, Length(max=500)),
        Optional("file", default=b""): bytes,
    }
)
_ZIP = b"PK\x03\x04"


class BringingIn:
    """Reads the files and puts them into the memory by its method, so that the command line does the same.

    Args:
        client: Calls methods in the name of the viewer.
    """

    def __init__(self, client: MethodClient) -> None:
        self._client = client

    def data(self, folder: str = FOLDER) -> dict[str, Any]:
        """Return the forms as they are before anything was sent."""
        return {"folder": folder, "error": "", "error_at": "", "brought": None}

    async def post(self, call: HttpCall) -> tuple[dict[str, Any], int]:
        """Return what was brought in, or what is wrong at its field, and the status of the page."""
        fields = read_fields(call, FIELDS, files=("file",))
        origin = fields["origin"]
        shown = self.data(fields["folder"] or FOLDER)
        try:
            found = await asyncio.to_thread(_read, fields)
            written: list[str] = []
            for batch in found.batches():
                answer = await self._client.ask(call, "memory.import", {"files": batch, "origin": origin})
                written += answer["written"]
        except HubError as error:
            return shown | {"error": error.message, "error_at": origin}, error.http_status
        known = len(found.files) - len(written)
        notes = found.left_out[:NOTES_SHOWN]
        return shown | {"brought": {"written": len(written), "known": known, "left_out": notes}}, 200


def _read(fields: Mapping[str, Any]) -> BroughtIn:
    if fields["origin"] == "openclaw":
        found = read_openclaw(Path(fields["folder"].strip() or FOLDER).expanduser())
    else:
        with tempfile.TemporaryDirectory(prefix="homarus-import-") as folder:
            name = "export.zip" if fields["file"].startswith(_ZIP) else "conversations.json"
            path = Path(folder) / name
            path.write_bytes(fields["file"])
            try:
                found = read_claude(path)
            except HubError as error:
                raise InvalidRequest(error.message.replace(str(path), "the file")) from error
    found.leave_out_large()
    return found
