"""`/undo`: undoes the latest file change of a conversation; for people, never for models."""

from __future__ import annotations

from collections.abc import Callable

from hub.core.errors import Conflict
from hub.core.executors import FILES
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandReply
from hub.messaging.texts import say
from integrations.tools.files.session_files import View
from integrations.tools.files.undoing import UndoStore

HELP = {"en": "take back the latest change of files in this conversation", "zh-CN": "撤销本次对话中最近一次文件更改"}


def undo_command(store: UndoStore, view: View, language: Callable[[], str]) -> ChatCommand:
    """Return the command.

    Args:
        view: Returns a session's view of a workspace.
    """

    async def undo(call: CommandCall) -> str | CommandReply:
        root = view(call.agent_id, call.session_key, call.context.authority)
        try:
            paths = await FILES.run(store.undo, call.session_key, root)
        except Conflict as error:
            return say("undo.changed", language(), path=str(error.details["path"]))
        if not paths:
            return say("undo.nothing", language())
        text = say("undo.done", language(), paths=", ".join(paths))
        more = await FILES.run(store.count, call.session_key)
        return CommandReply(text, ((say("undo.more", language()), "/undo"),)) if more else text

    return ChatCommand("undo", undo, Category.TOOLS, people_only=True, help=HELP)
