"""Pages that need no sign-in: a folder with an HTML file, its texts by language, and the files that it loads."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from string import Template

from aiohttp import web

from hub.core.errors import NotFound
from hub.core.languages import preferred_language
from hub.core.surfaces import HttpCall


class StandalonePage:
    """A page outside the dashboard.

    Args:
        folder: Has the files, and `texts.json`: texts by name, by language.
        page: The name of the HTML file; `$name` in it is a field or a text.
        files: The files that it loads, with their MIME types.
    """

    def __init__(self, folder: Path, page: str, files: Mapping[str, str]) -> None:
        self._folder = folder
        self._page = page
        self._files = files

    def show(
        self, call: HttpCall, language: str, headers: Mapping[str, str], policy: Mapping[str, str], **fields: str
    ) -> web.Response:
        """Return the page in the browser's language.

        Args:
            language: For browsers with none of ours.
            headers: Further headers.
            policy: The content security policy, by directive.
            fields: Values for the page; they are escaped.
        """
        chosen = preferred_language(call.request.headers.get("Accept-Language"), tuple(self._texts), language)
        texts = self._texts[chosen]
        fields = {"language": chosen, "texts": json.dumps(texts), **texts, **fields}
        body = self._template.substitute({name: html.escape(value) for name, value in fields.items()})
        shared = {
            "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
            "Cache-Control": "no-store",
            "Vary": "Accept-Language",
        }
        return web.Response(text=body, content_type="text/html", headers={**shared, **headers})

    def serve(self, call: HttpCall, headers: Mapping[str, str] | None = None) -> web.Response:
        """Return the file that `{file}` of the path names.

        Raises:
            NotFound: There is no such file.
        """
        name = call.params["file"]
        if name not in self._files:
            raise NotFound("there is no such file")
        headers = {"Cache-Control": "no-cache", **(headers or {})}
        return web.Response(text=self._read(name), content_type=self._files[name], headers=headers)

    @cached_property
    def _texts(self) -> dict[str, dict[str, str]]:
        texts: dict[str, dict[str, str]] = json.loads(self._read("texts.json"))
        return texts

    @cached_property
    def _template(self) -> Template:
        return Template(self._read(self._page))

    def _read(self, name: str) -> str:
        return (self._folder / name).read_text(encoding="utf-8")
