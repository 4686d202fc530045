"""Routes of the sign-in page and the overview."""

from __future__ import annotations

from hub.core.surfaces import Open, Route
from web.core.page_routes import FORM_LIMIT_BYTES, OWNER, page
from web.home.find_page import FindPage
from web.home.login_page import LoginPage
from web.home.overview_page import OverviewPage
from web.home.pick_page import PickPage


def routes(login: LoginPage, overview: OverviewPage, find: FindPage | None, pick: PickPage | None) -> list[Route]:
    """Return the routes; nothing is found by name in recovery mode."""
    return [
        Route("GET", "/login", login.show, OWNER, scope=Open.PUBLIC, cookie=True),
        Route("POST", "/login", login.sign_in, OWNER, scope=Open.PUBLIC, body_limit=FORM_LIMIT_BYTES),
        Route("POST", "/logout", login.sign_out, OWNER, scope=Open.SIGNED_IN, cookie=True, body_limit=FORM_LIMIT_BYTES),
        page("/", overview.show),
        *([] if find is None else [page("/find", find.find)]),
        *([] if pick is None else [page("/pick", pick.pick)]),
    ]
