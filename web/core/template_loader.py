"""The templates of pages and fragments, each compiled once with all that it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, Template

TEMPLATE_DIR = Path(__file__).parent.parent / "templates"


class PageTemplates:
    """Compiles templates when they are first wanted; that takes up to 40 ms for a page, and more for the first.

    Args:
        asset: Returns the address of a static file.
        folder: Where they are.
    """

    def __init__(self, asset: Callable[[str], str], folder: Path = TEMPLATE_DIR) -> None:
        self._asset = asset
        self._folder = folder
        self._environment: Environment | None = None
        self._loaded: set[str] = set()

    def get(self, name: str) -> Template:
        """Return a template; what it names is compiled when it is rendered, unless `load` did that."""
        return self._opened().get_template(name)

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

    def _opened(self) -> Environment:
        if self._environment is None:
            from jinja2 import Environment, FileSystemLoader, StrictUndefined

            environment = Environment(
                loader=FileSystemLoader(self._folder),
                autoescape=True,
                undefined=StrictUndefined,
                trim_blocks=True,
                lstrip_blocks=True,
                auto_reload=False,
            )
            environment.globals["asset"] = self._asset
            environment.globals["icon"] = environment.get_template("base/icons.html").module.icon  # type: ignore[attr-defined]
            self._environment = environment
        return self._environment
