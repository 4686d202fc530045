"""Routes of sign-in, Home and what is found by name, and the live topic that keeps Home true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.events import Event, EventBus, Unsubscribe
from hub.core.repairs import EVENT_REPAIRS_CHANGED
from hub.core.states import EVENT_STATE_CHANGED
from hub.core.surfaces import ADMIN, WRITE, Open, Route
from hub.messaging.access.pairing import EVENT_PAIRING_DECIDED, EVENT_PAIRING_REQUESTED
from hub.tools.approvals import (
    EVENT_APPROVAL_REQUESTED,
    EVENT_APPROVAL_RESOLVED,
    EVENT_QUESTION_REQUESTED,
    EVENT_QUESTION_RESOLVED,
)
from web.core.lazy_pages import LazyPages
from web.core.live import LiveUpdates
from web.core.page_routes import FORM_LIMIT_BYTES, OWNER, form, page
from web.core.pulse import PagePulse
from web.home.login_page import LoginPage

if TYPE_CHECKING:
    from web.home.find_page import FindPage
    from web.home.home_page import HomePage
    from web.home.notifications_page import NotificationsPage
    from web.home.pick_page import PickPage
    from web.home.welcome_page import WelcomePage

IMPORT_LIMIT_BYTES = 64 * 1_048_576
"""Of an export of another assistant that is uploaded."""
CHANGES = (
    *("run_started", "run_finished", "integration_changed", "models_changed", "config_refused", "config_changed"),
    *(EVENT_REPAIRS_CHANGED, EVENT_PAIRING_REQUESTED, EVENT_PAIRING_DECIDED),
    *(EVENT_APPROVAL_REQUESTED, EVENT_APPROVAL_RESOLVED, EVENT_QUESTION_REQUESTED, EVENT_QUESTION_RESOLVED),
)


def routes(login: LoginPage, home: LazyPages[HomePage]) -> list[Route]:
    """Return the routes of sign-in and Home."""
    return [
        Route("GET", "/login", login.show, OWNER, scope=Open.PUBLIC, cookie=True),
        Route("POST", "/login", login.sign_in, OWNER, scope=Open.PUBLIC, body_limit=FORM_LIMIT_BYTES),
        Route("POST", "/logout", login.sign_out, OWNER, scope=Open.SIGNED_IN, cookie=True, body_limit=FORM_LIMIT_BYTES),
        page("/", home.handler(lambda each: each.show)),
        page("/customise", home.handler(lambda each: each.customise)),
        form("/customise/move", home.handler(lambda each: each.move)),
        form("/customise/order", home.handler(lambda each: each.order)),
        form("/customise/favourites", home.handler(lambda each: each.favourites)),
        form("/reminder", home.handler(lambda each: each.remind), ADMIN),
    ]


def find_routes(find: LazyPages[FindPage], pick: LazyPages[PickPage]) -> list[Route]:
    """Return the routes that find things by name; there are none in recovery mode."""
    return [
        page("/find", find.handler(lambda each: each.find)),
        page("/pick", pick.handler(lambda each: each.pick)),
    ]


def notification_routes(pages: LazyPages[NotificationsPage]) -> list[Route]:
    """Return the routes of the page on which a browser is subscribed."""
    return [
        page("/notifications", pages.handler(lambda each: each.show), WRITE),
        form("/notifications/key", pages.handler(lambda each: each.key)),
        form("/notifications/state", pages.handler(lambda each: each.state)),
        form("/notifications/subscribe", pages.handler(lambda each: each.subscribe)),
        form("/notifications/unsubscribe", pages.handler(lambda each: each.unsubscribe)),
        form("/notifications/test", pages.handler(lambda each: each.test)),
    ]


def welcome_routes(welcome: LazyPages[WelcomePage]) -> list[Route]:
    """Return the routes of the first steps, for administrators."""
    return [
        page("/welcome", welcome.handler(lambda each: each.you), ADMIN),
        form("/welcome", welcome.handler(lambda each: each.save), ADMIN),
        page("/welcome/model", welcome.handler(lambda each: each.model), ADMIN),
        form("/welcome/model", welcome.handler(lambda each: each.add_model), ADMIN),
        page("/welcome/chat", welcome.handler(lambda each: each.chat), ADMIN),
        page("/welcome/phone", welcome.handler(lambda each: each.phone), ADMIN),
        page("/welcome/found", welcome.handler(lambda each: each.found), ADMIN),
        form("/welcome/found", welcome.handler(lambda each: each.look), ADMIN),
        page("/welcome/from", welcome.handler(lambda each: each.coming), ADMIN),
        form("/welcome/from", welcome.handler(lambda each: each.bring_in), ADMIN, IMPORT_LIMIT_BYTES),
        page("/welcome/done", welcome.handler(lambda each: each.done), ADMIN),
        form("/welcome/leave", welcome.handler(lambda each: each.leave), ADMIN),
    ]


def keep_true(bus: EventBus, live: LiveUpdates, pulse: PagePulse, home: LazyPages[HomePage]) -> list[Unsubscribe]:
    """Count changes on Home while somebody looks at it.

    Returns:
        Functions that stop listening.
    """

    def changed(event: Event) -> None:
        if live.is_watched(pulse.topic):
            pulse.beat()

    def moved(event: Event) -> None:
        if home.made is not None and home.made.shows(event.data["entity_id"]):
            changed(event)

    return [*(bus.listen(name, changed) for name in CHANGES), bus.listen(EVENT_STATE_CHANGED, moved)]
