"""The chat: conversations, their messages, and the forms to send, stop, name and delete."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from aiohttp import web
from msgspec import Struct

from hub.core.errors import InvalidRequest, LimitExceeded, NotFound
from hub.core.ids import new_id
from hub.core.schema import All, AnyOf, In, Length, Match, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from hub.gateway.calls.attachments import ATTACHMENTS_SCHEMA, images_of
from hub.messaging.contract import Address, ClientMessage, Receipt
from hub.messaging.schema import TEXT_LIMIT
from hub.sessions.fork import copies_as_tree, fork_session
from hub.sessions.keys import SessionKey, SessionKind, direct_key, incognito_key, is_incognito, main_key
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from web.chat.box import box_choices
from web.chat.last_lines import LINES_SHOWN, LastLines
from web.chat.live_chat import LiveChat
from web.chat.pieces import files_of, recalled_memories, uses_canvas
from web.chat.said_search import SaidSearch
from web.chat.session_titles import session_title
from web.chat.talk_list import channel_of, channels_of, top_conversations
from web.core.form import read_fields
from web.core.formats import title_of
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import MESSAGE_STATES, SUGGESTIONS

if TYPE_CHECKING:
    from hub.agent.agents import Agents
    from hub.agent.runner import AgentRunner
    from hub.messaging.channels import ChannelRegistry
    from hub.messaging.inbox.inbox import Inbox

LastStates = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
"""Returns the state of the last message that was to be sent in each conversation that has one."""

TURN_LIMIT = 100
"""Turns shown at once; earlier ones are a link away."""

SESSION_LIMIT = 200
LIST = "/chat/sessions"
SHOWS = ("", "archived", "snoozed", "copies")
TITLE_LIMIT = 120

KEY = All(string, Match(re.compile(r"^[A-Za-z0-9_.:-]{1,128}$"), msg="expected a key of letters, digits and _.:-"))
SESSION = All(string, Length(min=1, max=2_048))
SEND = Schema(
    {
        Optional("session", default="", description="A new conversation without it."): All(string, Length(max=2_048)),
        Optional("key", default=""): AnyOf("", KEY),
        Required("text"): string,
        Optional("agent", default="", description="Of a new conversation."): All(string, Length(max=64)),
        Optional("model", default="", description="Of a new conversation."): All(string, Length(max=200)),
        Optional("mode", default=""): In(["", "steer", "collect"]),
        Optional("attachments", default=list): ATTACHMENTS_SCHEMA,
    }
)
STOP = Schema(
    {
        Required("session"): SESSION,
        Optional("waiting", default=""): All(string, Length(max=20_000)),
        Optional("running", default="yes"): In(["yes", "no"]),
    }
)
NEW = Schema({Optional("agent", default=""): All(string, Length(max=64))})
MODEL = Schema({Required("session"): SESSION, Required("model"): All(string, Length(max=200))})
NAME = Schema({Required("session"): SESSION, Required("name"): All(string, Length(max=TITLE_LIMIT))})
ONE = Schema({Required("session"): SESSION})
FORK = Schema({Required("session"): SESSION, Required("run"): All(string, Length(min=1, max=256))})
PLACES = {"pin": ("pinned", True), "unpin": ("pinned", False)} | {
    "archive": ("archived", True),
    "unarchive": ("archived", False),
    "unread": ("unread", True),
}
SNOOZES = {"snooze_3h": 3, "snooze_1d": 24, "snooze_7d": 168, "unsnooze": 0}
"""Hours for which a conversation is left out of the list."""
LEAVES_THE_PAGE = frozenset({"archive", "unread", "snooze_3h", "snooze_1d", "snooze_7d"})
PLACE = Schema({Required("session"): SESSION, Required("place"): In([*PLACES, *SNOOZES])})
SEARCH_LIMIT = 200
MESSAGES_LIMIT = 50


class ListSources(Struct, frozen=True):
    """The further data of the list of conversations.

    Attributes:
        last_states: The states of the last message of each conversation in a chat app.
        said: Finds messages by their words.
        client: Calls the hub's methods, with the rights of the viewer.
    """

    last_states: LastStates
    said: SaidSearch
    client: MethodClient


class ChatPage:
    """Pages and forms of the chat.

    Args:
        inbox: Takes messages.
        channels: Knows the channel of the conversations shown here.
        sources: The further data of the list of conversations.
    """

    def __init__(
        self,
        renderer: Renderer,
        live_chat: LiveChat,
        *,
        sessions: SessionStore,
        agents: Agents,
        runner: AgentRunner,
        inbox: Inbox,
        channels: ChannelRegistry,
        sources: ListSources,
    ) -> None:
        self._renderer = renderer
        self._live_chat = live_chat
        self._sessions = sessions
        self._agents = agents
        self._runner = runner
        self._inbox = inbox
        self._channels = channels
        self._sources = sources
        self._lines = LastLines(sessions)

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /chat?session=KEY[&before=N]`: one conversation, the default agent's main one when none is named.

        With `past=ID`, its messages from before it was reset.
        """
        key = self._key(call.request.query.get("session"))
        before, past = call.request.query.get("before"), call.request.query.get("past")
        if before is None and past is None:
            data = await self._conversation(key) | await self._choices(call, key)
            return await self._renderer.respond(call, RenderedPage("chat", "Chat", data, "/chat"))
        if before is not None and (not before.isdigit() or len(before) > 9):
            raise InvalidRequest("`before`: expected the number of a turn")
        earlier = await self._earlier(key, None if before is None else int(before), past)
        return await self._renderer.respond(call, RenderedPage("earlier", "Chat", earlier, "/chat"))

    async def list(self, call: HttpCall) -> web.StreamResponse:
        """`GET /chat/sessions[?channel=…][&search=…][&show=archived|snoozed|copies]`: only the list."""
        query = call.request.query
        search, show = query.get("search", "").strip()[:SEARCH_LIMIT], query.get("show", "")
        if show not in SHOWS:
            raise InvalidRequest(f"show: expected one of {', '.join(SHOWS[1:])}")
        data = await self._sessions_data(query.get("channel", ""), search, show) | {
            "session": None,
            **self._ways(query.get("channel", "")),
            "messages": await self._sources.said.messages(call, search, MESSAGES_LIMIT),
        }
        return await self._renderer.respond(call, RenderedPage("sessions", "Conversations", data, "/chat"))

    async def send(self, call: HttpCall) -> web.StreamResponse:
        """`POST /chat/send`: send a message; the key makes it one message however often it is posted."""
        fields = read_fields(call, SEND)
        key = self._key(fields["session"]) if fields["session"] else self._fresh(fields["agent"])
        message_id = fields["key"] or f"web-{new_id()}"
        text, images = fields["text"].strip(), images_of(fields["attachments"])
        if not text and not images:
            raise InvalidRequest("the message is empty")
        if fields["model"] and not fields["session"]:
            await self._sessions.ensure(key)
            await self._sources.client.ask(call, "sessions.patch", {"key": key, "model": fields["model"]})
        context = call.context()
        channel = self._channels.home
        message = ClientMessage(
            address=Address(channel, key),
            message_id=message_id,
            sender=f"{channel}:user:{context.authority.person or context.authority.principal}",
            text=text,
            images=images,
            session_key=key,
            run_id=message_id,
            options={"queue": fields["mode"]} if fields["mode"] else {},
        )
        with self._live_chat.hearing(message_id) as heard:
            receipt = await self._inbox.receive(message, context)
            if not receipt.accepted:
                raise LimitExceeded(receipt.reason or "the message was refused")
            if receipt.run_id is not None and not receipt.duplicate and not wants_json(call.request):
                await heard()  # the page that comes next is never swapped where scripts are off
        if receipt.reply is not None and not receipt.duplicate:
            self._live_chat.add_command(receipt.session_key or key, text, receipt.reply)
        if wants_json(call.request):
            told = {"run_id": receipt.run_id, "session": receipt.session_key, "reply": receipt.reply}
            return json_response(told | {"state": await self._state(receipt)})
        return see_other(_path(receipt.session_key or key))

    async def _state(self, receipt: Receipt) -> str:
        """Return the delivery state of a message: waits, dropped (nothing answers it), or done."""
        if not receipt.duplicate or receipt.run_id is None:
            return "waits" if receipt.run_id is not None else "done"
        try:
            ended = await self._runner.wait(receipt.run_id, 0)
        except NotFound:
            return "done"
        return "waits" if ended is None else "dropped" if ended.status == "aborted" else "done"

    async def abort(self, call: HttpCall) -> web.StreamResponse:
        """`POST /chat/abort`: stop the runs of a conversation; waiting messages are answered next.

        But for the messages named by `waiting`, which are taken back; with `running=no` nothing else happens.
        """
        fields = read_fields(call, STOP)
        key = self._key(fields["session"])
        stopped = [each for run_id in fields["waiting"].split() for each in self._runner.abort(run_id, key)]
        if fields["running"] == "yes":
            stopped += self._runner.abort(session_key=key, waiting=False)
        if wants_json(call.request):
            return json_response({"stopped": stopped})
        return see_other(_path(key))

    async def new(self, call: HttpCall) -> web.StreamResponse:
        """`POST /chat/new`: the page of a fresh conversation, with an agent; it exists from its first message on."""
        key = self._fresh(read_fields(call, NEW)["agent"])
        return json_response({"session": key}) if wants_json(call.request) else see_other(_path(key))

    def _fresh(self, agent_id: str = "") -> str:
        agent = self._agents.get(agent_id) if agent_id else self._agents.default()
        return direct_key(agent.id, new_id(), channel=self._channels.home)

    async def incognito(self, call: HttpCall) -> web.StreamResponse:
        """`POST /chat/incognito`: the page of a fresh conversation that is deleted when it ends."""
        key = incognito_key(self._agents.default().id, new_id(), self._channels.home)
        return json_response({"session": key}) if wants_json(call.request) else see_other(_path(key))

    async def choose_model(self, call: HttpCall) -> web.StreamResponse:
        """`POST /chat/model`: choose the model of a conversation; empty goes back to the agent's."""
        fields = read_fields(call, MODEL)
        key = self._key(fields["session"])
        await self._sessions.ensure(key)  # a new conversation has no row yet
        await self._sources.client.ask(call, "sessions.patch", {"key": key, "model": fields["model"] or None})
        return json_response({"session": key}) if wants_json(call.request) else see_other(_path(key))

    async def fork(self, call: HttpCall) -> web.StreamResponse:
        """`POST /chat/fork`: copy a conversation up to a turn, to continue from there."""
        fields = read_fields(call, FORK)
        key = self._key(fields["session"])
        if (session := self._sessions.get(key)) is None:
            raise NotFound("this conversation is not there any more")
        title, kept = self._title(session, key) or "", self._runner.parts.kept_results
        fork = await fork_session(self._sessions, session, self._channels.home, title, kept, run_id=fields["run"])
        return json_response({"session": fork.key}) if wants_json(call.request) else see_other(_path(fork.key))

    async def rename(self, call: HttpCall) -> web.StreamResponse:
        """`POST /chat/rename`: name a conversation; an empty name removes the name."""
        fields = read_fields(call, NAME)
        key = self._key(fields["session"])
        await self._sessions.ensure(key)
        await self._sessions.patch(key, title=" ".join(fields["name"].split()) or None)
        return json_response({"session": key}) if wants_json(call.request) else see_other(_path(key))

    async def place(self, call: HttpCall) -> web.StreamResponse:
        """`POST /chat/place`: pin, archive or snooze a conversation, mark it as unread, or take that back."""
        fields = read_fields(call, PLACE)
        key, place = self._key(fields["session"]), fields["place"]
        await self._sessions.ensure(key)
        if place in SNOOZES:
            session = await self._sessions.snooze(key, SNOOZES[place] * 3_600)
        else:
            name, value = PLACES[place]
            session = await self._sessions.patch(key, **{name: value})
        if wants_json(call.request):
            names = ("archived", "pinned", "unread", "snoozed_ms")
            return json_response({"session": key, **{name: getattr(session, name) for name in names}})
        return see_other(LIST if place in LEAVES_THE_PAGE else _path(key))

    async def delete(self, call: HttpCall) -> web.StreamResponse:
        """`POST /chat/delete`: remove a conversation; the page asked before."""
        key = self._key(read_fields(call, ONE)["session"])
        self._runner.abort(session_key=key)
        await self._sessions.delete(key)
        return json_response({"deleted": key}) if wants_json(call.request) else see_other("/chat/sessions")

    async def session_state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frames of a watched conversation, which is marked as read."""
        key = self._key(topic.partition(":")[2])
        if (session := self._sessions.get(key)) is not None and (session.unread or session.snoozed_ms):
            await self._sessions.patch(key, unread=False, snoozed_ms=0)
        html = self._renderer.fragment("log", language, page=await self._conversation(key))
        return (
            {"t": "html", "id": "log", "html": html},
            {"t": "html", "id": "run-state", "html": self._live_chat.run_state(key, language)},
        )

    async def sessions_state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the list of conversations: `sessions`, or `sessions:<channel>`."""
        data = await self._sessions_data(topic.partition(":")[2]) | {"session": None}
        return ({"t": "html", "id": "sessions", "html": self._renderer.fragment("sessions", language, page=data)},)

    # -- what the templates read ---------------------------------------------------------------------------------------

    def _key(self, text: str | None) -> str:
        default = self._agents.default().id
        if not text:
            return main_key(default)
        key = SessionKey.parse(text, default_agent=default)
        self._agents.get(key.agent)
        return str(key)

    async def _conversation(self, key: str) -> dict[str, Any]:
        turns = await self._live_chat.turns(key)
        if await self._live_chat.prepare(turns[-TURN_LIMIT:]):
            turns = await self._live_chat.turns(key)
        run = self._live_chat.run_of(key)
        return await self._sessions_data() | {
            "session": self._session(key),
            "turns": [self._live_chat.shown(turn, key) for turn in turns[-TURN_LIMIT:]],
            "earlier_path": f"{_path(key)}&before={len(turns) - TURN_LIMIT}" if len(turns) > TURN_LIMIT else None,
            "run_id": run.turn.run_id if run else None,
            "next_key": f"web-{new_id()}",
            "text_limit": TEXT_LIMIT,
            "suggestions": list(SUGGESTIONS),
            "memory_used": recalled_memories(turns[-TURN_LIMIT:]),
            "files": files_of(turns[-TURN_LIMIT:]),
            "canvas": uses_canvas(turns[-TURN_LIMIT:]),
        }

    async def _choices(self, call: HttpCall, key: str) -> dict[str, Any]:
        """Return the choices in the box: models and agents; and the conversation's usage so far."""
        agent, session = SessionKey.parse(key).agent, self._sessions.get(key)
        box = await box_choices(self._sources.client, call, agent, (session.model if session else None) or "")
        current = box["model"]
        used, window = session.context_tokens if session else 0, current["contextWindow"] if current else 0
        percent = min(100, round(100 * used / window)) if window else 0
        return {
            **box,
            "context": {
                "used": used,
                "window": window,
                "percent": percent,
            },
            "cost_usd": session.usage.cost_usd if session is not None else None,
        }

    async def _earlier(self, key: str, before: int | None, past: str | None) -> dict[str, Any]:
        turns = (await self._live_chat.turns(key, past))[:before]
        first = max(len(turns) - TURN_LIMIT, 0)
        await self._live_chat.prepare(turns[first:])
        path = _path(key) + (f"&past={quote(past, safe='')}" if past else "")
        return {
            "session": self._session(key),
            "turns": [self._live_chat.shown(turn, key) for turn in turns[first:]],
            "earlier_path": f"{path}&before={first}" if first else None,
        }

    async def _sessions_data(self, channel: str = "", search: str = "", show: str = "") -> dict[str, Any]:
        everything, working = self._sessions.list(), self._live_chat.working()
        if show == "copies" and not search:
            shown = copies_as_tree(everything)[:SESSION_LIMIT]
        else:
            # Who searches finds what is archived or snoozed too.
            kind = everything if search else [each for each in everything if self._kind(each) == show]
            shown = [(each, 0) for each in top_conversations(kind, SESSION_LIMIT, channel=channel, search=search)]
        states = await self._sources.last_states([session.key for session, _ in shown])
        return {
            "default_agent": self._agents.default().id,
            "channel": channel,
            "search": search,
            "show": show,
            "sessions": [
                self._item(session, working)
                | self._where(session)
                | _sent(states.get(session.key))
                | {"channel": channel_of(session.key), "depth": depth}
                | ({"zone": 0} if show or search else {})
                | {"line": await self._lines.of(session) if at < LINES_SHOWN else ""}
                for at, (session, depth) in enumerate(shown)
            ],
        }

    def _ways(self, channel: str) -> dict[str, Any]:
        """Return the channels where conversations are held, to choose from."""
        return {
            "channel_path": f"{LIST}?{urlencode({'channel': channel})}" if channel else LIST,
            "channels": [
                {"name": each, "title": title_of(each), "home": self._channels.is_home(each)}
                | {"path": f"{LIST}?{urlencode({'channel': each})}"}
                for each in channels_of(self._sessions.list())
            ],
        }

    def _where(self, session: Session) -> dict[str, str]:
        """Return the icon of the place where a conversation is held, and its name where that is not the dashboard."""
        key = SessionKey.parse(session.key)
        if key.channel is None or self._channels.is_home(key.channel):
            by_itself = key.kind not in (SessionKind.MAIN, SessionKind.DIRECT)
            return {"icon": "zap" if by_itself else "message-circle", "place": ""}
        return {"icon": "send", "place": f"{key.channel.replace('_', ' ').capitalize()}"}

    def _kind(self, session: Session) -> str:
        return "archived" if session.archived else "snoozed" if self._sessions.is_snoozed(session) else ""

    def _item(self, session: Session, working: set[str]) -> dict[str, Any]:
        today = self._renderer.local(session.updated_ms).date() == self._renderer.today()
        return {
            "id": re.sub(r"[^A-Za-z0-9_-]", "_", session.key),
            "key": session.key,
            "path": _path(session.key),
            "title": self._title(session, session.key),
            "main": _is_main(session.key),
            "agent_id": session.agent_id,
            "updated_ms": session.updated_ms,
            "when": self._renderer.when(session.updated_ms),
            "zone": 1 if session.pinned else 2 if today else 3,
            "running": session.key in working,
            "pinned": session.pinned,
            "archived": session.archived,
            "unread": session.unread,
            "snoozed": self._sessions.is_snoozed(session),
            "incognito": is_incognito(session.key),
        }

    def _title(self, session: Session | None, key: str) -> str | None:
        return session_title(session, key, self._channels.is_home)

    def _session(self, key: str) -> dict[str, Any]:
        session = self._sessions.get(key)
        agent = self._agents.get(SessionKey.parse(key).agent)
        return {
            "agent": agent.title,
            "avatar": f"/avatar?agent={agent.id}" if agent.avatar is not None else "",
            "key": key,
            **({"icon": "", "place": ""} if session is None else self._where(session)),
            "path": _path(key),
            "title": self._title(session, key),
            "main": _is_main(key),
            "pinned": session is not None and session.pinned,
            "archived": session is not None and session.archived,
            "snoozed": session is not None and self._sessions.is_snoozed(session),
            "incognito": is_incognito(key),
        }


def _sent(state: str | None) -> dict[str, Any]:
    return {"state": state, "state_text": MESSAGE_STATES[state] if state is not None else ""}


def _is_main(key: str) -> bool:
    return SessionKey.parse(key).kind is SessionKind.MAIN


def _path(key: str) -> str:
    return f"/chat?session={quote(key, safe='')}"
