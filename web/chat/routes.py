"""Routes of the chat and of the approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.surfaces import LARGE_FRAME_BYTES, Route
from hub.tools.approval_rights import QUESTION_SCOPE, SCOPE
from web.chat.approvals_page import ApprovalsPage
from web.chat.avatar_page import AvatarPage
from web.chat.command_list import CommandList
from web.core.lazy_pages import LazyPages
from web.core.page_routes import form, page

if TYPE_CHECKING:
    from web.chat.chat_page import ChatPage


def routes(
    chat: LazyPages[ChatPage], approvals: ApprovalsPage, commands: CommandList, avatars: AvatarPage
) -> list[Route]:
    """Return the routes."""
    return [
        page("/chat", chat.handler(lambda each: each.show)),
        page("/chat/sessions", chat.handler(lambda each: each.list)),
        page("/chat/commands", commands.show),
        page("/avatar", avatars.show),
        form("/chat/send", chat.handler(lambda each: each.send), body_limit=LARGE_FRAME_BYTES),
        form("/chat/abort", chat.handler(lambda each: each.abort)),
        form("/chat/new", chat.handler(lambda each: each.new)),
        form("/chat/incognito", chat.handler(lambda each: each.incognito)),
        form("/chat/fork", chat.handler(lambda each: each.fork)),
        form("/chat/model", chat.handler(lambda each: each.choose_model)),
        form("/chat/rename", chat.handler(lambda each: each.rename)),
        form("/chat/place", chat.handler(lambda each: each.place)),
        form("/chat/delete", chat.handler(lambda each: each.delete)),
        form("/approvals/answer", approvals.answer, SCOPE),
        form("/questions/answer", approvals.answer_question, QUESTION_SCOPE),
        form("/secrets/answer", approvals.answer_secret, QUESTION_SCOPE),
    ]
