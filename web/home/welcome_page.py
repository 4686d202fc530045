"""The first steps in the browser: people, a model, a chat app, a phone, found devices, an import."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from hub.core.errors import HubError
from hub.core.surfaces import HttpCall
from web.agents.model_adding import ModelAdding
from web.channels.channels_page import ChannelsPage
from web.core.form import read_lists
from web.core.i18n import LANGUAGES, catalogue
from web.core.lazy_pages import LazyPages
from web.core.method_client import MethodClient
from web.core.preferences import store_preferences
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import OFFLINE_MODEL
from web.home import cards
from web.home.bringing_in import BringingIn
from web.home.choices import ChoiceStore
from web.home.first_steps import STARTER_NAME, STEPS, WELCOME, is_fresh
from web.settings.fields import DISCOVERY
from web.settings.people_page import PeoplePage
from web.settings.settings_page import SettingsPage

YOUR_NAME = "your_name"
NAME_LIMIT = 100
SETTINGS = ("hub.language", "hub.name", "hub.time_zone")


class WelcomeForms(Struct, frozen=True):
    """The pages whose forms the steps show: each thing has one form, wherever it appears."""

    settings: LazyPages[SettingsPage]
    people: LazyPages[PeoplePage]
    channels: LazyPages[ChannelsPage]
    adding: ModelAdding


class WelcomePage:
    """The steps, each of which can be skipped; only administrators reach them.

    Args:
        client: Calls methods for the steps, in the name of the viewer.
        choices: Record that a person left the steps.
        raw: Returns the configuration as written.
        put_into_force: Reads and applies the saved files.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        forms: WelcomeForms,
        choices: ChoiceStore,
        raw: Callable[[], Mapping[str, Any]],
        put_into_force: Callable[[], Awaitable[Any]],
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._forms = forms
        self._choices = choices
        self._raw = raw
        self._put_into_force = put_into_force
        self._bringing = BringingIn(client)

    async def you(self, call: HttpCall) -> web.StreamResponse:
        """`GET /welcome`: language, name of the home, the person's name and the time zone."""
        guessed = is_fresh(self._raw())
        fields = await self._fields()
        if guessed:
            fields["hub.language"].text = self._renderer.preferences(call).language
        name = self._renderer.person_name(call)
        return await self._you(call, fields, "" if name == STARTER_NAME else name, guessed=guessed)

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /welcome`: save them and continue; errors are shown at their fields, and all typed values stay."""
        posted = read_lists(call)
        fields = await self._fields()
        for each in fields.values():
            each.take(posted)
        name = (posted.get(YOUR_NAME) or [""])[-1].strip()
        words = catalogue(self._renderer.preferences(call).language)
        wrong = words.gettext("At most {count} characters.", count=NAME_LIMIT) if len(name) > NAME_LIMIT else ""
        problem = "" if wrong else await (await self._forms.settings.get()).write(list(fields.values()))
        person = call.known_caller.authority.person
        if not (wrong or problem or any(each.error for each in fields.values())) and name and person:
            try:
                await (await self._forms.people.get()).rename(person, name)
            except HubError as error:
                wrong = error.message
        if wrong or problem or any(each.error for each in fields.values()):
            return await self._you(call, fields, name, wrong=wrong, problem=problem, status=422)
        await self._put_into_force()
        if wants_json(call.request):
            return json_response({"ok": True})
        response = see_other(STEPS["model"][0])
        language = fields["hub.language"].text
        if language in LANGUAGES:
            store_preferences(response, {"language": language}, secure=call.request.secure)
        return response

    async def model(self, call: HttpCall) -> web.StreamResponse:
        """`GET /welcome/model[?provider=…]`: those who run models, and the form of one."""
        return await self._model(call, await self._forms.adding.data(call, STEPS["model"][0]))

    async def add_model(self, call: HttpCall) -> web.StreamResponse:
        """`POST /welcome/model`: connect to a provider, try its model, or use it and continue."""
        adding, added, status = await self._forms.adding.post(call, STEPS["model"][0])
        if added is not None:
            return json_response({"model": added}) if wants_json(call.request) else see_other(STEPS["chat"][0])
        return await self._model(call, adding, status)

    async def chat(self, call: HttpCall) -> web.StreamResponse:
        """`GET /welcome/chat`: the chat apps, each with a link to its form and back."""
        channels = await self._forms.channels.get()
        kinds, accounts = await asyncio.gather(channels.kinds(call, STEPS["chat"][0]), channels.accounts(call))
        return await self._show(call, "chat", {"kinds": kinds, "accounts": accounts})

    async def phone(self, call: HttpCall) -> web.StreamResponse:
        """`GET /welcome/phone`: the uses of a phone, and the way to its code."""
        paired = (await self._client.ask(call, "device.pair.list"))["paired"]
        return await self._show(call, "phone", {"count": len(paired)})

    async def found(self, call: HttpCall) -> web.StreamResponse:
        """`GET /welcome/found`: what announces itself in the network."""
        return await self._around(call)

    async def look(self, call: HttpCall) -> web.StreamResponse:
        """`POST /welcome/found`: look around in the network from now on."""
        settings = await self._forms.settings.get()
        field = next(each for each in settings.fields("network") if each.field.path == DISCOVERY)
        field.text = "minimal"
        if problem := await settings.write([field]) or field.error:
            return await self._around(call, problem)
        await self._put_into_force()
        return json_response({"ok": True}) if wants_json(call.request) else see_other(STEPS["found"][0])

    async def coming(self, call: HttpCall) -> web.StreamResponse:
        """`GET /welcome/from`: the forms by which memory comes along from another assistant."""
        return await self._show(call, "from", self._bringing.data())

    async def bring_in(self, call: HttpCall) -> web.StreamResponse:
        """`POST /welcome/from`: bring in the memory of another assistant, and say what came."""
        data, status = await self._bringing.post(call)
        return await self._show(call, "from", data, status)

    async def done(self, call: HttpCall) -> web.StreamResponse:
        """`GET /welcome/done`: three things to try."""
        return await self._show(call, "done", {"model": await self._answers(call)})

    async def leave(self, call: HttpCall) -> web.StreamResponse:
        """`POST /welcome/leave`: go to Home; from then on only its first steps lead here."""
        person = call.known_caller.authority.person or ""
        await self._choices.put(person, replace(await self._choices.of(person), welcomed=True))
        return json_response({"ok": True}) if wants_json(call.request) else see_other("/")

    # --- below ---

    async def _fields(self) -> dict[str, Any]:
        settings = await self._forms.settings.get()
        found = {each.field.name: each for each in settings.fields("general")}
        return {name: found[name] for name in SETTINGS}

    async def _you(
        self,
        call: HttpCall,
        fields: Mapping[str, Any],
        name: str,
        *,
        guessed: bool = False,
        wrong: str = "",
        problem: str = "",
        status: int = 200,
    ) -> web.StreamResponse:
        words = catalogue(self._renderer.preferences(call).language)
        language, home, zone = (fields[each].as_dict(words) for each in SETTINGS)
        language["spec"]["help"] = ""
        mine = {"spec": {"name": YOUR_NAME, "label": words.gettext("Your name")}, "value": name, "error": wrong}
        shown = [language, home, *([mine] if call.known_caller.authority.person else []), zone]
        data = {"fields": shown, "problem": problem, "guessed": guessed}
        return await self._show(call, "you", data, status)

    async def _model(self, call: HttpCall, adding: Mapping[str, Any], status: int = 200) -> web.StreamResponse:
        data = {"adding": adding, "model": await self._answers(call)}
        return await self._show(call, "model", data, status)

    async def _answers(self, call: HttpCall) -> str:
        """Return the name of the model that answers; empty for the offline one."""
        shown = cards.model(await self._client.ask(call, "models.status"), {})
        return "" if shown["name"] == OFFLINE_MODEL else str(shown["name"])

    async def _around(self, call: HttpCall, problem: str = "") -> web.StreamResponse:
        found = await self._found(call)
        data = {"found": found or [], "looks": found is not None, "problem": problem}
        return await self._show(call, "found", data, 422 if problem else 200)

    async def _found(self, call: HttpCall) -> list[Mapping[str, Any]] | None:
        """Return the services that can be set up; None without discovery."""
        try:
            found = (await self._client.ask(call, "discovery.list"))["found"]
        except HubError:
            return None
        return [each for each in found if each["state"] == "new"]

    async def _show(self, call: HttpCall, step: str, data: Mapping[str, Any], status: int = 200) -> web.StreamResponse:
        left_out = {"found"} if step != "found" and await self._found(call) == [] else set()
        steps = [name for name in STEPS if name not in left_out]
        at = steps.index(step)
        frame = {
            "step": step,
            "number": at + 1,
            "steps": len(steps) - 1,
            "before": STEPS[steps[at - 1]][0] if at else "",
            "after": STEPS[steps[at + 1]][0] if at + 1 < len(steps) else "",
        }
        page = RenderedPage("welcome", STEPS[step][1], {**frame, **data}, WELCOME, status, secret=step == "model")
        return await self._renderer.respond(call, page)
