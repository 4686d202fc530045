"""The dashboard of a running hub: builds its pages from the hub's parts and adds them to the gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hub.core.events import Event, Unsubscribe
from hub.core.languages import has_twelve_hours
from hub.core.phrases import map_phrase
from hub.core.repairs import EVENT_REPAIRS_CHANGED, Repair
from hub.core.surfaces import ADMIN, HttpCall, HttpHandler, Route
from hub.core.tasks import TaskOwner
from hub.gateway.calls.routes import RouteTable
from hub.messaging.access.pairing import EVENT_PAIRING_DECIDED, EVENT_PAIRING_REQUESTED
from hub.messaging.outbox.sending import MESSAGE_ENDS
from hub.tools.approvals import (
    EVENT_APPROVAL_REQUESTED,
    EVENT_APPROVAL_RESOLVED,
    EVENT_QUESTION_REQUESTED,
    EVENT_QUESTION_RESOLVED,
)
from web.agents import routes as agent_routes
from web.automations import live_topics as automation_topics, routes as automation_routes
from web.channels import routes as channel_routes
from web.channels.pairing_card import PairingCard
from web.chat import routes as chat_routes
from web.chat.approvals_page import ApprovalsPage
from web.chat.avatar_page import AvatarPage
from web.chat.command_list import CommandList
from web.chat.live_chat import LiveChat
from web.chat.markdown import Markdown
from web.chat.said_search import SaidSearch
from web.chat.session_titles import session_title
from web.chat.unread import UnreadMarks
from web.core.assets import Assets
from web.core.i18n import LANGUAGES, catalogue
from web.core.lazy_pages import LazyPages
from web.core.live import Frame, LiveUpdates
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.push_notices import PushNotices
from web.core.render import Renderer
from web.developer import live_topics as developer_topics, routes as developer_routes
from web.developer.event_log import EventLog
from web.devices import routes as device_routes
from web.entities import routes as entity_routes
from web.home import routes as home_routes
from web.home.choices import ChoiceStore
from web.home.login_page import LoginPage
from web.home.waiting_count import WaitingCount
from web.memory import live_topics as memory_topics, routes as memory_routes
from web.routes import add_routes, app_routes, frame_routes, pages_of_integrations
from web.settings import routes as settings_routes
from web.skills import routes as skill_routes
from web.timeline import routes as timeline_routes
from web.usage import routes as usage_routes

if TYPE_CHECKING:
    from hub.config.store import ReloadResult
    from hub.hub import Hub
    from web.agents.agents_page import AgentsPage
    from web.agents.models_page import ModelsPage
    from web.automations.page_set import AutomationPages
    from web.channels.channels_page import ChannelsPage
    from web.chat.chat_page import ChatPage
    from web.developer.components_page import ComponentsPage
    from web.developer.developer_page import DeveloperPage
    from web.devices.connected_page import ConnectedPage
    from web.devices.devices_page import DevicesPage
    from web.devices.reach import HubReach
    from web.devices.voice_page import VoicePage
    from web.entities.page_set import EntityPages
    from web.home.find_page import FindPage
    from web.home.home_page import HomePage
    from web.home.notifications_page import NotificationsPage
    from web.home.pick_page import PickPage
    from web.home.welcome_page import WelcomePage
    from web.memory.page_set import MemoryPages
    from web.settings.backup_page import BackupPage
    from web.settings.configuration_page import ConfigurationPage
    from web.settings.logs_page import LogsPage
    from web.settings.move_page import MovePage
    from web.settings.people_page import PeoplePage
    from web.settings.security_page import SecurityPage
    from web.settings.settings_page import SettingsPage
    from web.settings.status_page import StatusPage
    from web.settings.update_page import UpdatePage
    from web.skills.integrations_page import IntegrationsPage
    from web.skills.skills_page import SkillsPage
    from web.skills.tools_page import ToolsPage
    from web.timeline.page_set import TimelinePages
    from web.usage.usage_page import UsagePage

ASKED = (EVENT_APPROVAL_REQUESTED, EVENT_APPROVAL_RESOLVED, EVENT_QUESTION_REQUESTED, EVENT_QUESTION_RESOLVED)
STOP_LIMIT_S = 2.0


class Dashboard:
    """The dashboard; in recovery mode it has Home and the configuration alone.

    Args:
        hub: The hub, started; its gateway has the sign-in routes.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._tasks = TaskOwner("dashboard")
        self._assets = Assets()
        self._renderer = Renderer(
            hub.gateway.app,
            self._assets,
            hub.pages,
            home_name=lambda: str(self._setting("name", "Home")),
            hub_language=lambda: str(self._setting("language", "en")),
            zone=self._zone,
            wall_time=hub.clock.time,
        )
        self._renderer.person_name, self._renderer.recovery = self._person_name, hub.config.current.recovery
        self._renderer.has_twelve_hours = self._has_twelve_hours
        self._live = LiveUpdates(
            self._tasks, hello=self._hello, language=self._language_of, presence=hub.gateway.presence
        )
        self._started_ms = int(hub.clock.time() * 1000)
        self._client = MethodClient(hub.gateway.dispatcher)
        self._events = EventLog(hub.bus, self._live, hub.redactor, self._renderer, hub.clock.monotonic)
        self._home_pulse, self._pulse, self._timeline_pulse, self._entity_pulse = (
            PagePulse(topic, self._live.changed) for topic in ("home", "memory", "timeline", "entities")
        )
        self._live.add_topic(self._home_pulse.topic, self._home_pulse.state)
        self._approvals = ApprovalsPage(
            self._renderer, hub.approvals, hub.agent_secrets, lambda: hub.people, hub.clock.time
        )
        self._pairing = PairingCard(self._renderer, self._client)
        self._choices = ChoiceStore(hub.home.storage / "home_page.json", hub.home.documents)
        self._home = LazyPages(self._load_home)
        self._live_chat = None if self._renderer.recovery else self._make_live_chat()
        self._unsubscribe: list[Unsubscribe] = []
        if self._live_chat is not None:
            self._notices = self._make_notices()
            told = self._notices.notify_answer
            marks = UnreadMarks(hub.bus, self._live, hub.sessions, self._tasks, hub.channels.is_home, told)
            self._unsubscribe += [marks.close, self._notices.close]
        self._remove_routes = add_routes(hub.gateway.routes, self._renderer, self._routes())
        hub.approvals.translate = lambda text, language: catalogue(language).gettext(text)
        hub.gateway.unknown_page, hub.pages.render = self._renderer.unknown, pages_of_integrations(self._renderer)
        self._unsubscribe += [
            *home_routes.keep_true(hub.bus, self._live, self._home_pulse, self._home),
            *(hub.bus.listen(name, self._asked) for name in ASKED),
            *(hub.bus.listen(name, self._sent) for name in (*MESSAGE_ENDS, EVENT_REPAIRS_CHANGED)),
            hub.bus.listen(EVENT_REPAIRS_CHANGED, lambda event: self._live.changed("waiting")),
            *(hub.bus.listen(name, self._paired) for name in (EVENT_PAIRING_REQUESTED, EVENT_PAIRING_DECIDED)),
        ]

    async def close(self) -> None:
        """Remove the routes and close the tabs' sockets; the tabs reconnect when the hub is back."""
        self._hub.gateway.unknown_page = self._hub.pages.render = None
        self._remove_routes()
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._events.close()
        if self._live_chat is not None:
            self._live_chat.close()
        await self._live.close()
        await self._tasks.cancel_all(timeout_s=STOP_LIMIT_S)

    def _routes(self) -> list[Route]:
        """Return the routes of all page groups; in recovery mode those of the first pages and of the configuration."""
        hub, renderer = self._hub, self._renderer
        routes = [
            *frame_routes(renderer, self._assets, self._live),
            *app_routes(renderer, self._assets, lambda: str(self._setting("name", "Home"))),
            *home_routes.routes(self._make_login(), self._home),
            *settings_routes.routes(LazyPages(self._load_configuration)),
        ]
        if self._live_chat is None:
            return routes
        others = lambda: len(self._approvals.pending()) + len(self._current_repairs())  # noqa: E731
        waiting = WaitingCount(renderer, self._client, others)
        renderer.waiting = waiting.of
        self._live.add_topic("waiting", waiting.state, ADMIN)
        self._live.add_topic("pairing", self._pairing.state, ADMIN)
        self._live.add_topic(self._timeline_pulse.topic, self._timeline_pulse.state, ADMIN)
        automations, memory = LazyPages(self._load_automations), LazyPages(self._load_memory)
        developer, channels = LazyPages(self._load_developer), LazyPages(self._load_channels)
        self._skill_pulse = PagePulse("skills", self._live.changed)
        self._backup_pulse = PagePulse("backup", self._live.changed)
        self._update_pulse = PagePulse("update", self._live.changed)
        skills, devices = LazyPages(self._load_skills), LazyPages(self._load_devices)
        connected, voice = LazyPages(self._load_connected), LazyPages(self._load_voice)
        chat = LazyPages(partial(self._load_chat, self._live_chat))
        self._live.add_topic("session", chat.state(lambda each: each.session_state))
        self._live.add_topic("sessions", chat.state(lambda each: each.sessions_state))
        settings, people = LazyPages(self._load_settings), LazyPages(self._load_people)
        self._unsubscribe += [
            *automation_topics.serve_topics(hub.bus, self._live, automations),
            *memory_topics.serve_topics(hub.bus, self._live, self._pulse),
            *developer_topics.serve_topics(hub.bus, self._live, developer),
            *channel_routes.serve_topic(hub.bus, self._live, channels),
            *skill_routes.serve_topic(hub.bus, self._live, self._skill_pulse),
            *device_routes.serve_topics(hub.bus, hub.gateway.presence, self._live, devices, connected, voice),
            *entity_routes.serve_topic(hub.bus, self._live, self._entity_pulse),
            *settings_routes.serve_backup_topic(hub.bus, self._live, self._backup_pulse),
            *settings_routes.serve_update_topic(hub.bus, self._live, self._update_pulse),
        ]
        return [
            *routes,
            *home_routes.find_routes(LazyPages(self._load_find), LazyPages(self._load_pick)),
            *chat_routes.routes(
                chat,
                self._approvals,
                CommandList(self._renderer, self._client),
                AvatarPage(self._hub.agents),
            ),
            *automation_routes.routes(automations),
            *memory_routes.routes(memory),
            *settings_routes.form_routes(settings, people, LazyPages(self._load_logs), LazyPages(self._load_status)),
            *home_routes.notification_routes(LazyPages(self._load_notifications)),
            *settings_routes.security_routes(LazyPages(self._load_security)),
            *settings_routes.backup_routes(LazyPages(lambda: self._load_backup(settings))),
            *settings_routes.update_routes(LazyPages(lambda: self._load_update(settings))),
            *settings_routes.move_routes(LazyPages(self._load_move)),
            *home_routes.welcome_routes(LazyPages(lambda: self._load_welcome(settings, people, channels))),
            *developer_routes.routes(developer, LazyPages(self._load_components)),
            *channel_routes.routes(channels),
            *skill_routes.routes(skills, LazyPages(self._load_tools), LazyPages(self._load_integrations)),
            *device_routes.routes(devices, connected, voice),
            *entity_routes.routes(LazyPages(self._load_entities)),
            *timeline_routes.routes(LazyPages(self._load_timeline)),
            *agent_routes.routes(LazyPages(self._load_agents), LazyPages(self._load_models)),
            *usage_routes.routes(LazyPages(self._load_usage)),
        ]

    def _make_login(self) -> LoginPage:
        gateway = self._hub.gateway
        sign_in, sign_out = _handler(gateway.routes, "/api/login"), _handler(gateway.routes, "/api/logout")
        with_password = lambda: gateway.authenticator.mode == "password"  # noqa: E731
        return LoginPage(self._renderer, sign_in, sign_out, with_password, self._lands)

    async def _lands(self) -> str:
        """Return the page after signing in: the first steps while nothing is set up and nobody left them."""
        from web.home.first_steps import is_fresh

        config = self._hub.config.current
        fresh = not config.recovery and is_fresh(config.raw)
        return "/welcome" if fresh and not await self._choices.welcomed() else "/"

    def _load_home(self) -> Callable[[], HomePage]:
        from web.entities.home_tiles import HomeTiles
        from web.home.home_page import HomePage, HomeSources

        hub = self._hub

        sources = HomeSources(
            self._current_repairs,
            self._approvals.data,
            self._pairing.data,
            (lambda name: False) if self._renderer.recovery else hub.channels.is_home,
            recovery=self._renderer.recovery,
        )
        now = lambda: datetime.fromtimestamp(hub.clock.time(), self._zone())  # noqa: E731
        tiles = HomeTiles(self._renderer, self._client)
        return lambda: HomePage(self._renderer, self._client, sources, self._choices, tiles, self._home_pulse, now=now)

    def _load_find(self) -> Callable[[], FindPage]:
        from web.home.find_page import FindPage

        return lambda: FindPage(
            self._client,
            self._renderer,
            self._hub.sessions.list,
            lambda each: session_title(each, each.key, self._hub.channels.is_home),
            SaidSearch(self._client, self._renderer.when),
        )

    def _load_pick(self) -> Callable[[], PickPage]:
        from web.home.pick_page import PickPage

        return lambda: PickPage(self._renderer, self._client, lambda: self._hub.people)

    def _make_live_chat(self) -> LiveChat:
        hub = self._hub
        parts = (hub.bus, self._live, self._renderer, Markdown(), hub.sessions)
        return LiveChat(*parts, agents=hub.agents, tasks=self._tasks, asked=self._approvals.of_session)

    def _make_notices(self) -> PushNotices:
        hub = self._hub
        return PushNotices(
            hub.bus,
            hub.sessions,
            words=lambda text: catalogue(str(self._setting("language", "en"))).gettext(text),
            redact=hub.redactor.redact,
            now_ms=lambda: hub.clock.time() * 1000,
        )

    def _load_chat(self, live_chat: LiveChat) -> Callable[[], ChatPage]:
        from web.chat.chat_page import ChatPage, ListSources

        hub = self._hub
        return lambda: ChatPage(
            self._renderer,
            live_chat,
            sessions=hub.sessions,
            agents=hub.agents,
            runner=hub.runner,
            inbox=hub.inbox,
            channels=hub.channels,
            sources=ListSources(hub.outbox.last_states, SaidSearch(self._client, self._renderer.when), self._client),
        )

    def _load_automations(self) -> Callable[[], AutomationPages]:
        from web.automations.page_set import make_automation_pages

        return lambda: make_automation_pages(self._hub, self._renderer, self._client)

    def _load_memory(self) -> Callable[[], MemoryPages]:
        from web.memory.page_set import make_memory_pages

        return lambda: make_memory_pages(self._hub, self._renderer, self._client, self._pulse, self._tasks)

    def _load_developer(self) -> Callable[[], DeveloperPage]:
        from web.developer.developer_page import make_developer_page

        return lambda: make_developer_page(self._hub, self._renderer, self._client, self._events)

    def _load_components(self) -> Callable[[], ComponentsPage]:
        from web.developer.components_page import ComponentsPage

        return lambda: ComponentsPage(self._renderer)

    def _load_configuration(self) -> Callable[[], ConfigurationPage]:
        from web.settings.configuration_page import ConfigurationPage

        return lambda: ConfigurationPage(self._renderer, self._hub.config, self._put_into_force, self._name_of)

    def _load_settings(self) -> Callable[[], SettingsPage]:
        from web.settings.settings_page import SettingsPage

        return lambda: SettingsPage(self._renderer, self._client, self._hub.config, self._put_into_force)

    def _current_repairs(self) -> list[Repair]:
        return [repair for repair, ignored in self._open_repairs() if not ignored]

    def _open_repairs(self) -> list[tuple[Repair, bool]]:
        """Return the open repairs without secrets, each with whether it is ignored."""
        repairs, redact = self._hub.repairs, self._hub.redactor.redact
        return [
            (
                replace(each, title=map_phrase(each.title, redact), text=map_phrase(each.text, redact)),
                repairs.is_ignored(each),
            )
            for each in repairs.all()
        ]

    def _load_status(self) -> Callable[[], StatusPage]:
        from web.settings.status_page import StatusPage

        return lambda: StatusPage(
            self._renderer, self._client, self._open_repairs, self._hub.home.path, self._put_into_force
        )

    def _load_people(self) -> Callable[[], PeoplePage]:
        from web.settings.people_page import PeoplePage

        hub = self._hub
        return lambda: PeoplePage(self._renderer, self._client, lambda: hub.people, hub.config, self._put_into_force)

    def _load_security(self) -> Callable[[], SecurityPage]:
        from web.settings.security_page import SecurityPage

        return lambda: SecurityPage(self._renderer, self._client, lambda: self._hub.people)

    def _load_backup(self, settings: LazyPages[SettingsPage]) -> Callable[[], BackupPage]:
        from web.settings.backup_page import BackupPage

        return lambda: BackupPage(self._renderer, self._client, settings, self._hub.home, self._backup_pulse)

    def _load_update(self, settings: LazyPages[SettingsPage]) -> Callable[[], UpdatePage]:
        from web.settings.update_page import UpdatePage

        return lambda: UpdatePage(self._renderer, self._client, settings, Markdown(), self._update_pulse)

    def _load_move(self) -> Callable[[], MovePage]:
        from web.settings.move_page import MovePage

        return lambda: MovePage(self._renderer, self._client, self._hub.home)

    def _load_welcome(
        self, settings: LazyPages[SettingsPage], people: LazyPages[PeoplePage], channels: LazyPages[ChannelsPage]
    ) -> Callable[[], WelcomePage]:
        from web.agents.model_adding import ModelAdding
        from web.home.welcome_page import WelcomeForms, WelcomePage

        forms = WelcomeForms(settings, people, channels, ModelAdding(self._client))
        raw = lambda: self._hub.config.current.raw  # noqa: E731
        return lambda: WelcomePage(self._renderer, self._client, forms, self._choices, raw, self._put_into_force)

    def _load_notifications(self) -> Callable[[], NotificationsPage]:
        from web.home.notifications_page import NotificationsPage

        return lambda: NotificationsPage(self._renderer, self._client, self._reach())

    def _load_logs(self) -> Callable[[], LogsPage]:
        from web.settings.logs_page import LogsPage

        return lambda: LogsPage(self._renderer, self._client)

    def _load_channels(self) -> Callable[[], ChannelsPage]:
        from web.channels.channels_page import ChannelsPage

        return lambda: ChannelsPage(self._renderer, self._client, self._pairing)

    def _load_integrations(self) -> Callable[[], IntegrationsPage]:
        from web.skills.integrations_page import IntegrationsPage

        return lambda: IntegrationsPage(self._renderer, self._client)

    def _load_skills(self) -> Callable[[], SkillsPage]:
        from web.skills.skills_page import SkillsPage

        registries = lambda: self._hub.config.current.or_default("skills")["registries"]  # noqa: E731
        return lambda: SkillsPage(self._renderer, self._client, self._skill_pulse, registries)

    def _load_tools(self) -> Callable[[], ToolsPage]:
        from web.skills.tools_page import ToolsPage

        return lambda: ToolsPage(self._renderer, self._client)

    def _load_devices(self) -> Callable[[], DevicesPage]:
        from web.devices.devices_page import DevicesPage

        return lambda: DevicesPage(self._renderer, self._client, self._reach())

    def _load_connected(self) -> Callable[[], ConnectedPage]:
        from web.devices.connected_page import ConnectedPage

        return lambda: ConnectedPage(self._renderer, self._client, self._live.changed)

    def _load_voice(self) -> Callable[[], VoicePage]:
        from web.devices.voice_page import VoicePage
        from web.devices.voice_settings import VoiceSettingsPage

        def make() -> VoicePage:
            hub = self._hub
            page = VoicePage(
                self._renderer,
                self._client,
                hub.satellites_here(),
                hub.models,
                lambda: hub.voice.timers,
                language_of=lambda id: self._language_of_person(id) or str(self._setting("language", "en")),
            )
            page.settings = VoiceSettingsPage(
                self._renderer,
                self._client,
                hub.satellites_here(),
                hub.config,
                lambda: hub.people,
                page.engines,
                self._put_into_force,
            )
            self._unsubscribe += page.keep_true(hub.bus, self._live.changed)
            return page

        return make

    def _language_of_person(self, id: str | None) -> str | None:
        person = self._hub.people.by_id(id or "")
        return person.language if person else None

    def _reach(self) -> HubReach:
        from web.devices.reach import HubReach

        return HubReach(self._hub.home.path, self._hub.gateway, self._hub.config, self._put_into_force)

    def _load_entities(self) -> Callable[[], EntityPages]:
        from web.entities.page_set import make_entity_pages

        return lambda: make_entity_pages(self._renderer, self._client, self._entity_pulse)

    def _load_timeline(self) -> Callable[[], TimelinePages]:
        from web.timeline.page_set import make_timeline_pages

        def make() -> TimelinePages:
            self._unsubscribe.append(timeline_routes.keep_true(self._hub.bus, self._timeline_pulse))
            return make_timeline_pages(self._hub, self._renderer, self._client, self._timeline_pulse)

        return make

    def _load_usage(self) -> Callable[[], UsagePage]:
        from web.usage.usage_page import UsagePage

        return lambda: UsagePage(self._renderer, self._client)

    def _load_agents(self) -> Callable[[], AgentsPage]:
        from web.agents.agents_page import AgentsPage

        return lambda: AgentsPage(self._renderer, self._client)

    def _load_models(self) -> Callable[[], ModelsPage]:
        from web.agents.model_adding import ModelAdding
        from web.agents.models_page import ModelsPage

        return lambda: ModelsPage(self._renderer, self._client, ModelAdding(self._client))

    def _person_name(self, call: HttpCall) -> str:
        """Return the name of the viewer; empty for a program's token and the one person without a name."""
        person = call.caller and self._hub.people.by_id(call.caller.authority.person or "")
        return person.name if person else ""

    def _name_of(self, id: str) -> str:
        person = self._hub.people.by_id(id)
        return person.name if person else id

    def _has_twelve_hours(self) -> bool:
        return has_twelve_hours(str(self._setting("time_format", "auto")), str(self._setting("language", "en")))

    def _zone(self) -> ZoneInfo:
        return ZoneInfo(str(self._setting("time_zone", "UTC")))

    def _setting(self, name: str, default: str) -> Any:
        section = self._hub.config.current.or_default("hub")
        return section.get(name, default) if isinstance(section, Mapping) else default

    def _language_of(self, call: HttpCall) -> str:
        """Return the language of the page that opens a live socket; not every browser sends it there."""
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
        """Show what waits for a word, or was answered: in the inbox, and in the conversation that it belongs to."""
        self._live.changed("waiting")
        if self._live_chat is not None and (approval := await self._hub.approvals.get(event.data["id"])) is not None:
            await self._live_chat.show_ask(approval)
            self._notices.notify_question(approval)

    def _sent(self, event: Event) -> None:
        self._live.changed_all("sessions")

    def _paired(self, event: Event) -> None:
        self._live.changed("pairing")
        self._live.changed("waiting")


def _handler(routes: RouteTable, path: str) -> HttpHandler:
    """Return the gateway's own handler of a path."""
    match = routes.match("POST", path)
    if match is None:
        raise LookupError(f"the gateway has no route POST {path}")
    return match.route.handler
