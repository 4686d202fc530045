"""Routes of the chat and of the approvals."""

from __future__ import annotations

from hub.core.surfaces import LARGE_FRAME_BYTES, Route
from hub.tools.approval_rights import QUESTION_SCOPE, SCOPE
from web.chat.approvals_page import ApprovalsPage
from web.chat.avatar_page import AvatarPage
from web.chat.chat_page import ChatPage
from web.chat.command_list import CommandList
from web.core.page_routes import form, page


def routes(chat: ChatPage, approvals: ApprovalsPage, commands: CommandList, avatars: AvatarPage) -> list[Route]:
    """Return the routes."""
    return [
        page("/chat", chat.show),
        page("/chat/sessions", chat.list),
        page("/chat/commands", commands.show),
        page("/avatar", avatars.show),
        form("/chat/send", chat.send, body_limit=LARGE_FRAME_BYTES),
        form("/chat/abort", chat.abort),
        form("/chat/new", chat.new),
        form("/chat/incognito", chat.incognito),
        form("/chat/fork", chat.fork),
        form("/chat/model", chat.choose_model),
        form("/chat/rename", chat.rename),
        form("/chat/place", chat.place),
        form("/chat/delete", chat.delete),
        form("/approvals/answer", approvals.answer, SCOPE),
        form("/questions/answer", approvals.answer_question, QUESTION_SCOPE),
        form("/secrets/answer", approvals.answer_secret, QUESTION_SCOPE),
    ]
