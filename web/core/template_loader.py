"""The templates of pages and fragments, rendered by aiohttp-jinja2, each compiled once with all that it names."""

from __future__ import annotations

import re
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

from web.core.assets import STATIC_DIR

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_SYMBOL = re.compile(r'<symbol id="([^"]+)"')
TEMPLATE_DIR = Path(__file__).parent.parent / "templates"
SPRITE = STATIC_DIR / "vendor" / "sprite.svg"

ContextProcessor = Callable[[web.Request], Awaitable[dict[str, Any]]]
"""Returns what every page shows to the browser that asks."""


class PageTemplates:
    """Compiles templates on first use; that takes up to 40 ms for a page, and more for the first.

    Args:
        app: The application of the requests; aiohttp-jinja2 keeps the environment and the context processors in it.
        asset: Returns the address of a static file.
        processors: Add to the context of each page.
        folder: The directory of the templates.
    """

    def __init__(
        self,
        app: web.Application,
        asset: Callable[[str], str],
        processors: Sequence[ContextProcessor] = (),
        folder: Path = TEMPLATE_DIR,
    ) -> None:
        self._app = app
        self._asset = asset
        self._processors = processors
        self._folder = folder
        self._environment: Environment | None = None
        self._loaded: set[str] = set()
        self._components: dict[str, SimpleNamespace] = {}
        self._icons: frozenset[str] = frozenset()

    async def respond(self, name: str, request: web.Request, context: Mapping[str, Any], status: int) -> web.Response:
        """Return a page for the request, with the additions of the context processors."""
        import aiohttp_jinja2

        self._opened()

        async def render(request: web.Request) -> web.StreamResponse:
            return aiohttp_jinja2.render_template(name, request, context, status=status)

        return cast(web.Response, await aiohttp_jinja2.context_processors_middleware(request, render))

    def get(self, name: str) -> Template:
        """Return a template; the ones it names are compiled when it is rendered, unless `load` did that."""
        return self._opened().get_template(name)

    def read(self, path: Path) -> Template:
        """Return a template of an integration, as its file is now; for a thread."""
        return self._opened().from_string(path.read_text(encoding="utf-8"))

    def load(self, name: str) -> None:
        """Compile a template and all that it extends, includes and imports; for a thread."""
        from jinja2.meta import find_referenced_templates

        environment = self._opened()
        waiting: list[str | None] = [name]
        while waiting:
            each = waiting.pop()
            if each is None or each in self._loaded:
                continue
            environment.get_template(each)
            waiting += find_referenced_templates(environment.parse((self._folder / each).read_text(encoding="utf-8")))
            self._loaded.add(each)

    def components(self, language: str, texts: Mapping[str, Any]) -> SimpleNamespace:
        """Return the macros of `ui/`, which show their own texts in a language.

        Args:
            texts: `_`, `ngettext` and the other names that the macros use.
        """
        if language not in self._components:
            environment = self._opened()
            macros = SimpleNamespace()
            for name in environment.list_templates(filter_func=lambda name: name.startswith("ui/")):
                module = environment.get_template(name).make_module({**texts, "ui": macros})
                exported = {key: value for key, value in vars(module).items() if not key.startswith("_")}
                vars(macros).update(exported)
            self._components[language] = macros
        return self._components[language]

    def _opened(self) -> Environment:
        if self._environment is None:
            import aiohttp_jinja2
            from jinja2 import FileSystemLoader, StrictUndefined

            # aiohttp-jinja2 1.6 keeps the context in the request under a plain text, of which aiohttp warns.
            warnings.filterwarnings("ignore", category=web.NotAppKeyWarning, module="aiohttp_jinja2")
            environment = aiohttp_jinja2.setup(
                self._app,
                context_processors=self._processors,
                default_helpers=False,
                loader=FileSystemLoader(self._folder),
                undefined=StrictUndefined,
                trim_blocks=True,
                lstrip_blocks=True,
                auto_reload=False,
            )
            environment.globals["asset"] = self._asset
            environment.globals["icon"] = self._icon
            environment.filters["sentence"] = sentence
            self._environment = environment
        return self._environment

    def _icon(self, name: str, label: str = "") -> str:
        """Return an icon of the sprite, decorative unless it has a label; an unknown name is the puzzle piece."""
        from jinja2.filters import do_mark_safe

        if not self._icons:
            self._icons = frozenset(_SYMBOL.findall(SPRITE.read_text(encoding="utf-8")))
        known = name if name in self._icons else "puzzle"
        told = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
        address = f"{self._asset('vendor/sprite.svg')}#{known}"
        return do_mark_safe(f'<svg class="icon" {told}><use href="{address}"/></svg>')


def sentence(text: str) -> str:
    """Return a text of several words with a capital at its beginning, unless that is a name of files or of code."""
    first, space, _ = text.partition(" ")
    return text[:1].upper() + text[1:] if space and first.isalpha() and first.islower() else text
