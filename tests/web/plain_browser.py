"""A browser without scripts: reads pages, follows links and sends forms over HTTP, as each browser would."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from urllib.parse import urljoin

from aiohttp import ClientSession, CookieJar, FormData
from bs4 import BeautifulSoup, Tag

from tests.servers.hub_process import HubProcess

CONTROLS = "input, select, textarea"


class PlainBrowser:
    """One tab.

    Args:
        client: Keeps the cookies.
        base_url: The hub.
        language: What the reader prefers.
    """

    def __init__(self, client: ClientSession, base_url: str, language: str = "en") -> None:
        self.url = f"{base_url}/"
        self.page = BeautifulSoup("", "html.parser")
        self._client = client
        self._headers = {"Accept": "text/html", "Accept-Language": language, "Origin": base_url}
        self.status = 0
        self._files: dict[str, tuple[str, bytes]] = {}

    @property
    def cookies(self) -> dict[str, str]:
        """What it keeps for the hub."""
        return {each.key: each.value for each in self._client.cookie_jar}

    async def goto(self, path: str) -> None:
        """Open a page."""
        await self._open("GET", urljoin(self.url, path))

    async def follow(self, name: str) -> None:
        """Follow the link of a name."""
        await self.goto(str(_one(self.page.select("a[href]"), name)["href"]))

    def field(self, label: str) -> Tag:
        """Return the field with a label."""
        named = {str(each["for"]): _name(each) for each in self.page.select("label[for]")}
        fields = {id(each): each for each in self.page.select(CONTROLS)}
        names = {
            key: str(each.get("aria-label") or named.get(str(each.get("id"))) or _name(each.find_parent("label")))
            for key, each in fields.items()
        }
        exact = [key for key, name in names.items() if name == label]
        (found, *_) = exact or [key for key, name in names.items() if label in name]
        return fields[found]

    def value(self, label: str) -> str:
        """Return what is in a field."""
        return _value(self.field(label))

    def fill(self, label: str, text: str) -> None:
        """Type into a field, or choose an option by its value."""
        field = self.field(label)
        match field.name:
            case "textarea":
                field.string = text
            case "select":
                for option in field.select("option"):
                    option.attrs.pop("selected", None)
                next(each for each in field.select("option") if each.get("value") == text)["selected"] = ""
            case _:
                field["value"] = text

    def check(self, label: str) -> None:
        """Tick a box."""
        self.field(label)["checked"] = ""

    def choose_file(self, label: str, name: str, content: str | bytes) -> None:
        """Choose a file for a field."""
        self._files[str(self.field(label)["name"])] = (name, content.encode() if isinstance(content, str) else content)

    async def press(self, name: str, within: str = "main") -> None:
        """Press the button of a name, which sends its form."""
        button = _one(self.page.select(f"{within} button"), name)
        form = self.page.find("form", id=str(button["form"])) if "form" in button.attrs else button.find_parent("form")
        assert isinstance(form, Tag), f"{name} is in no form"
        action = str(button.get("formaction") or form.get("action") or self.url)
        fields = list(self._filled(form))
        if "name" in button.attrs:
            fields.append((str(button["name"]), str(button.get("value", ""))))
        if str(form.get("method", "get")).lower() == "get":
            await self._open("GET", urljoin(self.url, action), params=fields)
            return
        data = FormData(default_to_multipart=form.get("enctype") == "multipart/form-data")
        for key, value in fields:
            data.add_field(key, value)
        for key, (file, content) in self._files.items():
            data.add_field(key, content, filename=file)
        self._files.clear()
        await self._open("POST", urljoin(self.url, action), data=data)

    def text(self, selector: str = "main") -> str:
        """Return the words of the first element that is found."""
        found = self.page.select_one(selector)
        assert found is not None, f"there is no {selector}"
        return _name(found)

    def texts(self, selector: str) -> list[str]:
        """Return the words of each element."""
        return [_name(each) for each in self.page.select(selector)]

    def having(self, selector: str, words: str) -> Tag:
        """Return the first such element that says something."""
        return next(each for each in self.page.select(selector) if words in each.get_text(" "))

    def region(self, name: str) -> Tag:
        """Return the region of a name."""
        for each in self.page.select("section, [role=region]"):
            heading = self.page.find(id=str(each.get("aria-labelledby")))
            if name == (each.get("aria-label") or _name(heading if isinstance(heading, Tag) else None)):
                return each
        raise AssertionError(f"there is no region {name}")

    def links(self, region: str) -> list[str]:
        """Return the words of the links in a region."""
        return [_name(each) for each in self.region(region).select("a")]

    def _filled(self, form: Tag) -> Iterable[tuple[str, str]]:
        of_form = {id(each) for each in form.select(CONTROLS)}
        for field in self.page.select(CONTROLS):
            mine = field["form"] == form.get("id") if "form" in field.attrs else id(field) in of_form
            if not mine or "name" not in field.attrs or "disabled" in field.attrs or field.get("type") == "file":
                continue
            if field.get("type") in ("checkbox", "radio") and "checked" not in field.attrs:
                continue
            yield str(field["name"]), _value(field)

    async def _open(self, method: str, url: str, **sent: object) -> None:
        async with self._client.request(method, url, headers=self._headers, **sent) as answer:  # type: ignore[arg-type]
            self.url = str(answer.url)
            self.status = answer.status
            self.page = BeautifulSoup(await answer.text(errors="replace"), "html.parser")


@asynccontextmanager
async def plain_browser(hub: HubProcess, language: str = "en") -> AsyncIterator[PlainBrowser]:
    """Open a tab that has signed in with the form."""
    async with signed_in_with(hub.url, hub.rpc("dashboard.link")["code"], language) as browser:
        yield browser


@asynccontextmanager
async def signed_in_with(base_url: str, code: str, language: str = "en") -> AsyncIterator[PlainBrowser]:
    """Open a tab that has signed in with a code."""
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
        browser = PlainBrowser(client, base_url, language)
        await browser.goto("/login")
        (field,) = browser.page.select("#login-form input[name=code]")
        field["value"] = code
        await browser.press(browser.texts("#login-form button")[0], within="#login-form")
        assert browser.url.removeprefix(base_url) in ("/", "/welcome")  # a fresh home begins with the first steps
        yield browser


def _name(element: Tag | None) -> str:
    return "" if element is None else " ".join(element.get_text(" ").split())


def _one(found: Iterable[Tag], name: str) -> Tag:
    names = [(str(each.get("aria-label") or _name(each)), each) for each in found]
    exact = [each for said, each in names if said == name]
    close = exact or [each for said, each in names if name in said]
    assert close, f"there is no {name} among {[said for said, _ in names]}"
    return close[0]


def _value(field: Tag) -> str:
    if field.name == "textarea":
        return field.get_text().removeprefix("\n").replace("\r\n", "\n")
    if field.name == "select":
        options = field.select("option[selected]") or ([] if "multiple" in field.attrs else field.select("option"))
        return str(options[0].get("value", _name(options[0]))) if options else ""
    return str(field.get("value", "on" if field.get("type") == "checkbox" else ""))
