"""Which texts the dashboard shows, read from its templates, modules and scripts."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

from jinja2 import Environment
from jinja2.ext import extract_from_ast

import web
from hub.automation.blueprints.document import read_blueprint
from hub.automation.definition.grammar import script_field_json
from hub.messaging.account_fields import account_form
from hub.skills.component import BUNDLED
from hub.skills.scan_rules import TEXT_RULES
from hub.skills.skill_file import read_skill
from web.automations.form_kinds import LISTS, common_schema, kind_names, own_keys, script_settings, settings
from web.automations.form_texts import (
    CHOICE_TEXTS,
    CHOICES_OF_KEYS,
    FIELD_LABELS,
    KIND_NAMES,
    SCRIPT_FIELD_LABELS,
    SERVICE_FIELD_LABELS,
)
from web.automations.kind_tiles import TILE_GROUPS, TILE_TEXTS
from web.automations.reminders_page import DAYS, REPEATS, SNOOZES
from web.automations.trigger_texts import SENSED_TEXTS, TRIGGER_TEXTS, TURNED_TEXTS
from web.channels.guides import ACCOUNT_LABELS, CHOICE_LABELS, GUIDES
from web.core import texts
from web.core.navigation import ADDED, GROUPS, IN_RECOVERY, Tab
from web.core.preferences import THEMES
from web.devices.devices_page import ACCESS
from web.devices.reach import NOT_ENCRYPTED, ONLY_HERE
from web.entities.entities_page import BUTTONS
from web.entities.state_texts import ATTRIBUTE_VALUES, BY_CLASS, DOMAINS, SLIDER_TEXTS, STATES
from web.entities.tiles import ICONS
from web.entities.weather import CONDITIONS

WEB_DIR = Path(web.__file__).parent
_PYTHON_CALL = re.compile(r"\b(?:n?gettext|RenderedPage|phrase)\(")
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
    for tree in _modules_that_translate("web"):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = {"gettext": 0, "ngettext": 0, "RenderedPage": 1, "phrase": 0}.get(name)
            if place is not None and len(node.args) > place and isinstance(node.args[place], ast.Constant):
                yield str(ast.literal_eval(node.args[place]))
    yield from (
        *FIELD_LABELS.values(),
        *SERVICE_FIELD_LABELS.values(),
        *BUTTONS.values(),
        *ACCESS.values(),
        *(NOT_ENCRYPTED, ONLY_HERE),
        *STATES.values(),
        *(text for _, text in CONDITIONS.values()),
        *DOMAINS.values(),
        *SLIDER_TEXTS.values(),
        *(text for two in BY_CLASS.values() for text in two),
        *(label for _, label, _ in ATTRIBUTE_VALUES.values()),
        *KIND_NAMES.values(),
        *SCRIPT_FIELD_LABELS.values(),
        *(text for _, text in ICONS.values()),
        *CHOICE_TEXTS.values(),
        *CHOICES_OF_KEYS.values(),
        *TURNED_TEXTS.values(),
        *(text for each in SENSED_TEXTS.values() for text in each.values()),
        *TILE_GROUPS.values(),
        *(text for tiles in TILE_TEXTS.values() for _, _, text in tiles.values()),
        *REPEATS.values(),
        *SNOOZES.values(),
        *DAYS.values(),
        *texts_of_the_grammar(),
    )
    yield ADDED
    for group in (*GROUPS, *IN_RECOVERY):
        yield from filter(None, [group.title])
        for entry in group.entries:
            yield from _titles(entry)
    yield from (*texts.SUGGESTIONS, *texts.WEEKDAYS, *texts.MONTHS)
    yield from (text for text, _ in texts.MODEL_STATES.values())
    yield from (text for pair in texts.PUSH_TOPICS.values() for text in pair)
    yield "The assistant asks"  # a push
    yield from (texts.REQUIRED, texts.NOT_IN_USE, texts.OFFLINE_MODEL)
    yield from texts.SKILL_NAMES
    yield texts.MODEL_PROVIDERS["my_server"]  # the others are names
    yield from ACCOUNT_LABELS.values()
    yield from CHOICE_LABELS.values()
    for guide in GUIDES.values():
        yield from filter(None, (guide.line, *guide.steps))
    for table in (
        texts.CHANNEL_STATES,
        texts.INTEGRATION_STATES,
        texts.THINKING_LEVELS,
        texts.DM_POLICIES,
        texts.GROUP_POLICIES,
        texts.PAIRING_STATES,
        texts.MESSAGE_STATES,
        texts.USAGE_PARTS,
        texts.BUDGET_PERIODS,
        texts.INTEGRATION_LOOKS,
        texts.INTEGRATION_REACHES,
        texts.PACKAGE_STATES,
        texts.SKILL_STATES,
        texts.SKILL_SOURCES,
        texts.SKILL_SEVERITIES,
        texts.TOOL_RISKS,
        texts.TOOL_GROUPS,
        texts.APPROVAL_TITLES,
        texts.GREETINGS,
        texts.APPROVAL_DETAILS,
        texts.HAPPENING_OUTCOMES,
        texts.HAPPENING_FACTS,
        texts.STEP_FACTS,
        texts.STEP_TEXTS,
        texts.TOOL_SENTENCES,
        texts.AUTOMATION_STATES,
        texts.AUTOMATION_FILTERS,
        texts.OUTCOMES,
        texts.MODES,
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
        TRIGGER_TEXTS,
        THEMES,
    ):
        yield from table.values()


def _titles(tab: Tab) -> Iterator[str]:
    """Yield the title of an entry or a tab, and those of its tabs."""
    yield tab.title
    for each in tab.tabs:
        yield from _titles(each)


def phrases_of_the_hub() -> Iterator[str]:
    """Yield the templates of the hub's phrases: those of `phrase("…")` calls."""
    for tree in _modules_that_translate("hub", "integrations"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "phrase" and node.args:
                yield str(ast.literal_eval(node.args[0]))


def constants_of_the_hub() -> Iterator[str]:
    """Yield each text of the hub's modules, some of which pages show: descriptions of services and their fields."""
    for path in _modules("hub", "integrations"):
        # The code that importing it has kept is read, not the source: in a hundredth of the time.
        yield from _texts_in(SourceFileLoader(path.stem, str(path)).get_code(path.stem))


def texts_of_skills() -> Iterator[str]:
    """Yield the descriptions of the bundled skills, and what the scan says in one sentence of any skill."""
    for path in sorted(BUNDLED.rglob("SKILL.md")):
        yield read_skill(path.read_text(encoding="utf-8"), path.parent.name).description
    yield from (rule.message for rule in TEXT_RULES)


def texts_of_blueprints() -> Iterator[str]:
    """Yield names and descriptions of the bundled blueprints, of their inputs, and of the choices of those."""
    for path in sorted((WEB_DIR.parent / "blueprints").rglob("*.yaml")):
        found = read_blueprint(path.read_text(encoding="utf-8"), path.name).metadata
        yield from (found.name, found.description)
        yield from _named([section.as_dict() for section in found.sections])


def texts_of_manifests() -> Iterator[str]:
    """Yield the names of the bundled integrations."""
    for path in sorted((WEB_DIR.parent / "integrations").glob("*/*/manifest.json")):
        yield str(json.loads(path.read_text(encoding="utf-8"))["name"])


def texts_of_accounts() -> Iterator[str]:
    """Yield what the form for a channel's account says of its fields, and of the ways of which one is chosen."""
    for path in sorted((WEB_DIR.parent / "integrations" / "channels").glob("*/schema.py")):
        form = account_form(import_module(f"integrations.channels.{path.parent.name}.schema").CONFIG_SCHEMA)
        yield from (field["description"] for field in form.fields if field["asked"] and field["description"])
        yield from (way["label"] for way in form.ways)


def _modules(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((WEB_DIR.parent / folder).rglob("*.py"))


def _modules_that_translate(*folders: str) -> Iterator[ast.Module]:
    for path in _modules(*folders):
        source = path.read_text(encoding="utf-8")
        if _PYTHON_CALL.search(source):
            yield ast.parse(source)


def _texts_in(constant: object) -> Iterator[str]:
    if isinstance(constant, CodeType):
        constant = constant.co_consts
    if isinstance(constant, str):
        yield constant
    elif isinstance(constant, tuple | frozenset):
        for each in constant:
            yield from _texts_in(each)


def _named(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key in ("name", "description", "label", "unit_of_measurement") and isinstance(each, str):
                yield from [each] if each else []
            else:
                yield from _named(each)
    elif isinstance(value, list):
        for each in value:
            yield from _named(each)


def texts_of_the_grammar() -> Iterator[str]:
    """Yield the descriptions of an automation's and a script's keys and kinds, which the form shows as hints."""
    schemas = [*settings().values(), *script_settings().values(), *script_field_json().values()]
    schemas += map(common_schema, ("alias", "id", "enabled", "variables", "continue_on_error"))
    for what in LISTS:
        kinds = kind_names(what)
        for kind in kinds:
            schemas += own_keys(what, kind)["properties"].values()
    yield from (each["description"] for each in schemas if each.get("description"))
    yield from ("What it is about.", "Values for its inputs.")


def texts_of_scripts() -> Iterator[str]:
    """Yield the message ids in our own scripts."""
    for path in sorted((WEB_DIR / "static").glob("*.js")):
        yield from _SCRIPT_CALL.findall(path.read_text(encoding="utf-8"))
