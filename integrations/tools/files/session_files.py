"""The files of a workspace as one session sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hub.agent.taint.outside_files import OutsideFiles
from hub.core.context import Authority
from hub.core.executors import FILES
from hub.security.outside_reader import OutsideReader
from hub.security.root import Root
from hub.tools.contract import ToolCall
from integrations.tools.files.problems import explain
from integrations.tools.files.undoing import UndoStore

T = TypeVar("T")

View = Callable[[str, str, Authority], Root]
"""Gives what a session sees of an agent's workspace, by agent, session key and authority."""


class SessionFiles:
    """The dependencies of the file tools.

    Args:
        view: Returns a session's view.
        outside: Knows which files hold words from outside.
        undo: Keeps what files held before they were changed.
        reader: Reads files that may be hostile.
    """

    def __init__(self, view: View, outside: OutsideFiles, undo: UndoStore, reader: OutsideReader) -> None:
        self._view = view
        self.outside = outside
        self.undo = undo
        self.reader = reader

    async def on_disk(self, call: ToolCall, path: str, work: Callable[[Root], T]) -> T:
        """Run blocking work on the session's view of the workspace in a thread; errors speak of `path`."""
        root = self._view(call.agent_id, call.session_key, call.context.authority)
        try:
            return await FILES.run(work, root)
        except OSError as error:
            raise await FILES.run(explain, error, path, root) from error
