"""`import` in templates: macros of the files in the folder `custom_templates` of the home."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2.runtime import Context

from hub.template.compile import Compiled, compile_template
from hub.template.contract import TemplateFailed
from hub.template.environment import TemplateSandbox
from hub.template.work import BoundReached, Exposed

FOLDER = "custom_templates"
SIZE_LIMIT = 262_144
_NAME = re.compile(r"(?:[\w-][\w .-]*/)*[\w-][\w .-]*\.jinja")


class Imports:
    """Reads and compiles the files that templates import; a file that changed is read again.

    Args:
        folder: `custom_templates` of the home.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._compiled: dict[str, tuple[int, Compiled]] = {}

    def load(self, sandbox: TemplateSandbox, name: Any) -> ImportedTemplate:
        """Return a file of the folder, compiled.

        Raises:
            TemplateFailed: There is no such file, or it cannot be compiled.
        """
        path = self._path(str(name))
        try:
            changed = path.stat().st_mtime_ns
            known = self._compiled.get(str(name))
            if known is None or known[0] != changed:
                if path.stat().st_size > SIZE_LIMIT:
                    raise TemplateFailed(f"{FOLDER}/{name} is larger than {SIZE_LIMIT} bytes")
                compiled = compile_template(sandbox, path.read_text(encoding="utf-8"), f"{FOLDER}/{name}", own=False)
                known = self._compiled[str(name)] = (changed, compiled)
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateFailed(f"{FOLDER}/{name} cannot be read: {error.__class__.__name__}") from error
        return ImportedTemplate(sandbox, known[1])

    def _path(self, name: str) -> Path:
        path = self._folder / name
        if not _NAME.fullmatch(name) or not path.resolve().is_relative_to(self._folder.resolve()):
            raise TemplateFailed(f"expected the name of a file in {FOLDER}/ such as tools.jinja, got {name[:80]!r}")
        if not path.is_file():
            raise TemplateFailed(f"there is no {FOLDER}/{name}")
        return path


class ImportedTemplate:
    """A compiled file as the code that jinja generates for `import` uses it."""

    def __init__(self, sandbox: TemplateSandbox, compiled: Compiled) -> None:
        self._sandbox = sandbox
        self._compiled = compiled

    def make_module(
        self, vars: Mapping[str, Any] | None = None, shared: bool = False, locals: Mapping[str, Any] | None = None
    ) -> TemplateModule:
        """Return the macros and variables of the file; with `import … with context` they see the variables given."""
        sandbox = self._sandbox
        given = {**(vars or {}), **(locals or {})}
        context = Context(sandbox, given if shared else {**sandbox.globals, **given}, None, {})
        with sandbox.nested():
            chars = sum(len(piece) for piece in self._compiled.root(context))
        if chars > sandbox.limits.output_chars:
            raise BoundReached(f"an imported file gives more than {sandbox.limits.output_chars} characters")
        return TemplateModule(context.get_exported())

    def _get_default_module(self, context: Context | None = None) -> TemplateModule:
        return self.make_module()


class TemplateModule(Exposed):
    """The definitions of a file: `tools` after `{% import 'tools.jinja' as tools %}`."""

    __slots__ = ("_exported",)

    def __init__(self, exported: Mapping[str, Any]) -> None:
        self._exported = exported

    def read(self, name: str) -> Any:
        try:
            return self._exported[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getattr__(self, name: str) -> Any:
        return self.read(name)

    def __repr__(self) -> str:
        return "<imported template>"
