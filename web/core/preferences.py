"""Preferences of a browser: language, theme, shortcuts. Kept in cookies, never in the hub."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aiohttp import web
from msgspec import Struct

from hub.core.schema import In, Optional, Schema, string
from web.core.i18n import LANGUAGES, choose_language

THEMES: Mapping[str, str] = {"auto": "System", "light": "Light", "dark": "Dark"}
THEME_ICONS: Mapping[str, str] = {"auto": "monitor", "light": "sun", "dark": "moon"}
KEYS = ("on", "off")
YEAR_S = 31_536_000
LANGUAGE_COOKIE = "homarus_language"
THEME_COOKIE = "homarus_theme"
KEYS_COOKIE = "homarus_keys"
SIDE_COOKIE = "homarus_side"
"""Whether the side bar is folded to its icons; set by the page's script."""

FORM = Schema(
    {
        Optional("language"): In(list(LANGUAGES)),
        Optional("theme"): In(list(THEMES)),
        Optional("keys"): In(list(KEYS)),
        Optional("back", default="/"): string,
    }
)

_LOCAL_PATH = re.compile(r"^/(?![/\\])[\w\-./?=&%:~+]{0,300}$")


class Preferences(Struct, frozen=True):
    """Display preferences of one browser; `folded` is the side bar."""

    language: str
    theme: str
    keys: str
    folded: bool


def read_preferences(request: web.BaseRequest, hub_language: str) -> Preferences:
    """Return the browser's preferences; unset ones follow its settings, then the hub's."""
    cookies = request.cookies
    theme = cookies.get(THEME_COOKIE, "auto")
    keys = cookies.get(KEYS_COOKIE, "on")
    return Preferences(
        language=choose_language(cookies.get(LANGUAGE_COOKIE), request.headers.get("Accept-Language"), hub_language),
        theme=theme if theme in THEMES else "auto",
        keys=keys if keys in KEYS else "on",
        folded=cookies.get(SIDE_COOKIE) == "folded",
    )


def store_preferences(response: web.StreamResponse, chosen: Mapping[str, str], *, secure: bool) -> None:
    """Set the cookies of the chosen preferences.

    A form that has a theme also has the box for shortcuts, which sends nothing when it is not ticked.
    """
    values = {
        LANGUAGE_COOKIE: chosen.get("language"),
        THEME_COOKIE: chosen.get("theme"),
        KEYS_COOKIE: chosen.get("keys", "off") if "theme" in chosen else chosen.get("keys"),
    }
    for name, value in values.items():
        if value is not None:
            response.set_cookie(name, value, max_age=YEAR_S, path="/", httponly=True, samesite="Strict", secure=secure)


def local_path(path: str) -> str:
    """Return `path` when it is one of this origin, else `/`."""
    return path if _LOCAL_PATH.match(path) else "/"
