"""Which texts the dashboard shows, read from its templates, modules and scripts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment
from jinja2.ext import extract_from_ast

import web
from web.automations.form_kinds import KINDS, common_schema, own_keys, settings
from web.automations.form_texts import FIELD_LABELS, KIND_NAMES
from web.core import texts
from web.core.preferences import THEMES
from web.dashboard import ENTRIES

WEB_DIR = Path(web.__file__).parent
_SCRIPT_CALL = re.compile(r"""\bt\(\s*"((?:[^"\\]|\\.)*)\"""")


def texts_of_templates() -> Iterator[str]:
    """Yield the message ids in the templates."""
    environment = Environment(autoescape=True)
    for path in sorted((WEB_DIR / "templates").rglob("*.html")):
        tree = environment.parse(path.read_text(encoding="utf-8"))
        for _, _, found in extract_from_ast(tree, ("_", "ngettext")):
            message = found if isinstance(found, str) else next(iter(found or ()), None)
            if isinstance(message, str):
                yield message


def texts_of_modules() -> Iterator[str]:
    """Yield the message ids in Python: those of `gettext` calls, of page titles, and of `web.core.texts`."""
    for path in sorted(WEB_DIR.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = {"gettext": 0, "ngettext": 0, "RenderedPage": 1}.get(name)
            if place is not None and len(node.args) > place and isinstance(node.args[place], ast.Constant):
                yield str(ast.literal_eval(node.args[place]))
    yield from (*FIELD_LABELS.values(), *KIND_NAMES.values(), *texts_of_the_grammar())
    for entry in ENTRIES:
        yield from filter(None, (entry.title, entry.short, *(tab.title for tab in entry.tabs)))
    yield from texts.SUGGESTIONS
    yield texts.REQUIRED
    for table in (
        texts.INTEGRATION_STATES,
        texts.RUN_ENDS,
        texts.ACTIVITY,
        texts.APPROVAL_KINDS,
        texts.APPROVAL_STATES,
        texts.AUTOMATION_STATES,
        texts.AUTOMATION_FILTERS,
        texts.OUTCOMES,
        texts.NOT_RUN_REASONS,
        texts.STEP_STATES,
        texts.CARD_LISTS,
        texts.MEMORY_KINDS,
        texts.MEMORY_SECTIONS,
        texts.MEMORY_AREAS,
        texts.MEMORY_SCORES,
        texts.MEMORY_ENGINES,
        texts.MEMORY_FACTORS,
        texts.MEMORY_FACTS,
        texts.MEMORY_REASONS,
        texts.MEMORY_TRUST,
        texts.MEMORY_TOLD,
        THEMES,
    ):
        yield from table.values()


def texts_of_the_grammar() -> Iterator[str]:
    """Yield the descriptions of an automation's keys and kinds, which the form shows as hints."""
    schemas = [*settings().values(), *map(common_schema, ("alias", "id", "enabled", "variables", "continue_on_error"))]
    for what, kinds in KINDS.items():
        for kind in kinds:
            schemas += own_keys(what, kind)["properties"].values()
    yield from (each["description"] for each in schemas if each.get("description"))
    yield "What it is about."


def texts_of_scripts() -> Iterator[str]:
    """Yield the message ids in our own scripts."""
    for path in sorted((WEB_DIR / "static").glob("*.js")):
        yield from _SCRIPT_CALL.findall(path.read_text(encoding="utf-8"))
