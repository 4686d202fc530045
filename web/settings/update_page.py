"""Updates of Homarus: what runs, what is new, and the update itself, with how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from hub.core.errors import HubError
from hub.core.phrases import phrase, phrase_from_data
from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import HttpCall
from web.chat.markdown import Markdown
from web.core.form import read_fields
from web.core.i18n import Catalogue, catalogue
from web.core.lazy_pages import LazyPages
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.settings.settings_page import DONE, SettingsPage

PATH = "/settings/update"
WORK = {
    "look": phrase("Looking for a new version"),
    "prepare": phrase("Preparing the new version beside the running one"),
    "test": phrase("Checking the configuration with the new version"),
    "backup": phrase("Backing up the home"),
    "wait": phrase("Waiting until the assistant is not at work"),
    "restart": phrase("Restarting"),
}
KINDS = {
    "checkout": phrase("A git clone: new versions are the tags of its remote."),
    "wheel": phrase("An installed package: new versions come from the package index."),
}
SIGNED = {
    "verified": phrase("Its tag is signed, and the signature is verified."),
    "unverified": phrase("Its tag is signed by a key that is not known here."),
    "none": phrase("Its tag is not signed."),
}
_RUN = Schema({Required("version"): All(string, Length(min=1, max=50))})


class UpdatePage:
    """The page and its forms; only owners reach what they do.

    Args:
        client: Where versions are looked for and installed.
        settings: Shows and writes when the hub asks by itself.
        markdown: Renders what is new.
        pulse: Counts what changes.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        settings: LazyPages[SettingsPage],
        markdown: Markdown,
        pulse: PagePulse,
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._settings = settings
        self._markdown = markdown
        self._pulse = pulse

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/update`: what runs, what is known of newer versions, and the last update."""
        return await self._show(call)

    async def check(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/update/check`: ask whether there is a newer version."""
        return await self._done(call, "update.check", {})

    async def run(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/update/run`: begin the update that was shown; the page says how far it is."""
        return await self._done(call, "update.run", read_fields(call, _RUN))

    # --- below ---

    async def _done(self, call: HttpCall, method: str, params: Mapping[str, Any]) -> web.StreamResponse:
        try:
            told = await self._client.ask(call, method, params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, error.message, status=error.http_status)
        return json_response(told) if wants_json(call.request) else see_other(PATH)

    async def _show(self, call: HttpCall, problem: str = "", *, status: int = 200) -> web.StreamResponse:
        words = catalogue(self._renderer.preferences(call).language)
        told = await self._client.ask(call, "update.status")
        settings, newest = await self._settings.get(), told["newest"]
        problem = problem or phrase_from_data(told["error"], told["errorPhrase"])
        work = told["working"]
        data = {
            "topic": self._pulse.topic,
            "revision": self._pulse.revision,
            "version": told["version"],
            "kind": words.gettext(KINDS.get(told["kind"], "")),
            "why_not": words.gettext(phrase_from_data(told["whyNot"], told["whyNotPhrase"])),
            "problem": words.gettext(problem),
            "done": words.gettext(DONE.get(call.request.query.get("done", ""), "")),
            "looked": self._time(told["lookedMs"]),
            "newest": None if newest is None else self._newest(newest, words),
            "working": None if work is None else {"text": words.gettext(WORK[work["what"]]), "line": work["line"]},
            "last": self._last(told["last"]),
            "cards": settings.cards("update", settings.fields("update"), words),
        }
        return await self._renderer.respond(call, RenderedPage("update", phrase("Update"), data, PATH, status))

    def _newest(self, newest: Mapping[str, Any], words: Catalogue) -> dict[str, Any]:
        return {
            "version": newest["version"],
            "html": self._markdown.render(newest["notes"]),
            "signed": words.gettext(SIGNED.get(newest["signature"], "")),
        }

    def _last(self, last: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if last is None:
            return None
        return {
            **(self._time(last["begun_ms"]) or {}),
            "version": last["version"],
            "previous": last["previous"],
            "state": last["state"],
            "why": last["why"],
            "backup": last["backup"],
        }

    def _time(self, ms: int | None) -> dict[str, Any] | None:
        return None if ms is None else {"when": self._renderer.when(ms), "iso": self._renderer.iso(ms)}
