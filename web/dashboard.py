"""The dashboard of a running hub: builds its pages from the hub's parts and adds them to the gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hub.core.events import Event, Unsubscribe
from hub.core.repairs import EVENT_REPAIRS_CHANGED
from hub.core.tasks import TaskOwner
from hub.gateway.calls.contract import HttpCall, HttpHandler
from hub.gateway.calls.routes import RouteTable
from hub.messaging.approval_messages import question
from hub.tools.approval_rights import SCOPE
from hub.tools.approvals import EVENT_APPROVAL_REQUESTED, EVENT_APPROVAL_RESOLVED
from web.automations.live_editor import keep_workshop_live
from web.chat.approvals_page import ApprovalsPage
from web.chat.chat_page import ChatPage
from web.chat.live_chat import LiveChat
from web.chat.markdown import Markdown
from web.core.assets import Assets
from web.core.i18n import LANGUAGES
from web.core.lazy_pages import LazyPages
from web.core.live import Frame, LiveUpdates
from web.core.method_client import MethodClient
from web.core.render import Renderer
from web.core.texts import ACTIVITY
from web.developer.event_log import EventLog
from web.home.login_page import LoginPage
from web.home.overview_data import Facts
from web.home.overview_page import OverviewPage
from web.memory.pulse import MemoryPulse
from web.routes import Pages, add_routes
from web.settings.configuration_page import ConfigurationPage

if TYPE_CHECKING:
    from hub.config.store import ReloadResult
    from hub.hub import Hub
    from web.automations.editor_pages import EditorPages

STOP_LIMIT_S = 2.0


class Dashboard:
    """The dashboard; in recovery mode it has the overview and the configuration alone.

    Args:
        hub: The hub, started; its gateway has the sign-in routes.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._tasks = TaskOwner("dashboard")
        self._assets = Assets()
        self._renderer = Renderer(
            self._assets,
            home_name=lambda: str(self._setting("name", "Home")),
            hub_language=lambda: str(self._setting("language", "en")),
            zone=self._zone,
            wall_time=hub.clock.time,
        )
        self._live = LiveUpdates(self._tasks, hello=self._hello, language=self._language_of)
        self._started_ms = int(hub.clock.time() * 1000)
        self._facts = Facts(hub, self._started_ms)
        self._door = MethodClient(hub.gateway.dispatcher)
        self._events = EventLog(hub.bus, self._live, hub.redactor, self._renderer, hub.clock.monotonic)
        self._pulse = MemoryPulse(self._live.changed)
        waits = hub.approvals
        approvals = ApprovalsPage(self._renderer, waits.pending, waits.latest, waits.resolve, hub.clock.time)
        overview = OverviewPage(self._renderer, self._facts.overview, approvals.data)
        self._live.add_topic("overview", overview.state)
        self._live.add_topic("approvals", approvals.state, SCOPE)
        self._live_chat = None if self._facts.recovery else self._make_live_chat()
        workshop = None if self._facts.recovery else LazyPages(self._load_workshop)
        pages = Pages(
            login=LoginPage(
                self._renderer,
                _handler(hub.gateway.routes, "/api/login"),
                _handler(hub.gateway.routes, "/api/logout"),
                lambda: hub.gateway.authenticator.mode == "password",
            ),
            overview=overview,
            configuration=ConfigurationPage(self._renderer, hub.config, self._put_into_force),
            chat=None if self._live_chat is None else self._make_chat(self._live_chat),
            approvals=approvals,
            workshop=workshop,
        )
        self._remove_routes = add_routes(hub.gateway.routes, self._renderer, self._assets, self._live, pages)
        changes = ("integration_changed", "models_changed", "config_refused", EVENT_REPAIRS_CHANGED, *ACTIVITY)
        self._unsubscribe: list[Unsubscribe] = [
            *(hub.bus.listen(name, self._changed) for name in changes),
            hub.bus.listen(EVENT_APPROVAL_REQUESTED, self._asked),
            hub.bus.listen(EVENT_APPROVAL_RESOLVED, self._answered),
            *([] if workshop is None else keep_workshop_live(hub, self._live, workshop, self._pulse)),
        ]

    async def close(self) -> None:
        """Take the routes away and close the tabs' sockets; the tabs come back by themselves when the hub does."""
        self._remove_routes()
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._events.close()
        if self._live_chat is not None:
            self._live_chat.close()
        await self._live.close()
        await self._tasks.cancel_all(timeout_s=STOP_LIMIT_S)

    def _make_live_chat(self) -> LiveChat:
        hub = self._hub
        return LiveChat(hub.bus, self._live, self._renderer, Markdown(), hub.sessions, self._tasks, hub.clock.time)

    def _make_chat(self, live_chat: LiveChat) -> ChatPage:
        hub = self._hub
        chat = ChatPage(self._renderer, live_chat, hub.sessions, hub.agents, hub.runner, hub.inbox.receive)
        self._live.add_topic("session", chat.session_state)
        self._live.add_topic("sessions", chat.sessions_state)
        return chat

    def _load_workshop(self) -> Callable[[], EditorPages]:
        from web.automations.editor_pages import WorkshopNeeds, make_workshop

        needs = WorkshopNeeds(self._renderer, self._door, self._events, self._pulse, self._tasks, self._zone)
        return lambda: make_workshop(self._hub, needs)

    def _zone(self) -> ZoneInfo:
        return ZoneInfo(str(self._setting("time_zone", "UTC")))

    def _setting(self, name: str, default: str) -> Any:
        section = self._hub.config.current.or_default("hub")
        return section.get(name, default) if isinstance(section, Mapping) else default

    def _language_of(self, call: HttpCall) -> str:
        """Return the language of the page that opens a live socket; not every browser tells it there."""
        asked = call.request.query.get("language", "")
        return asked if asked in LANGUAGES else self._renderer.preferences(call).language

    def _hello(self) -> Sequence[Frame]:
        return ({"t": "hello"}, {"t": "version", "assets": self._assets.version, "boot": self._started_ms})

    async def _put_into_force(self) -> ReloadResult | None:
        if self._setting("reload", "hybrid") == "off":
            return None
        result = await self._hub.config.reload()
        await self._hub.apply(result)
        return result

    async def _asked(self, event: Event) -> None:
        """Show what waits in the inbox, and in the conversation that it belongs to."""
        self._live.changed("approvals")
        approval, key = await self._hub.approvals.get(event.data["id"]), event.data["session_key"]
        if approval is not None and key is not None and self._live_chat is not None:
            self._live_chat.add_note(key, question(approval, str(self._setting("language", "en"))))

    def _answered(self, event: Event) -> None:
        self._live.changed("approvals")

    def _changed(self, event: Event) -> None:
        self._live.changed("overview")


def _handler(routes: RouteTable, path: str) -> HttpHandler:
    """Return the gateway's own handler of a path: there is one way in, whoever asks for it."""
    match = routes.match("POST", path)
    if match is None:
        raise LookupError(f"the gateway has no route POST {path}")
    return match.route.handler
