"""The facts of a memory, read in the name of the viewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hub.core.errors import HubError
from hub.core.surfaces import HttpCall
from web.memory.facts import Fact, FactShelf
from web.memory.files_page import MemoryPageTools


async def facts_of(
    tools: MemoryPageTools,
    shelf: FactShelf,
    call: HttpCall,
    asked: str,
    files: Sequence[Mapping[str, Any]] | None = None,
) -> list[Fact]:
    """Return the facts that a reader may see, the newest first.

    Args:
        asked: The agent whose memory it is; empty for the default one.
        files: What `memory.list` answered, if it was asked already.
    """
    whose = tools.whose(asked)
    if files is None:
        files = (await tools.client.ask(call, "memory.list", whose))["files"]

    async def read(path: str) -> str:
        try:
            answer = await tools.client.ask(call, "memory.read", {"path": path, **whose})
        except HubError:  # gone or too large; the page of the file says so
            return ""
        return str(answer["text"])

    return await shelf.all(tools.names.agent(asked), files, read)
