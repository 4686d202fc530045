"""What the editor edits: automations and scripts, each with its files, its grammar and its pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from hub.automation.definition.explain import clause, sentence
from hub.automation.definition.fields import sequence
from hub.automation.definition.grammar import automation as automation_grammar
from hub.automation.editing.automation_editor import AutomationEditor
from hub.automation.editing.script_editor import ScriptEditor
from hub.automation.engine.automations import Automations
from hub.config.spans import as_written
from hub.core.surfaces import HttpCall
from web.automations.form_kinds import ACTION, AUTOMATION_SHAPE, SCRIPT_SHAPE, Shape
from web.automations.item_problems import SCRIPT, Problem, problems_of
from web.automations.trace_view import automation_path
from web.core.urls import script_place

AUTOMATION_STARTER = """\
alias: ""
triggers:
  - trigger: time
    at: "07:00"
conditions: []
actions:
  - action: ""
"""
SCRIPT_STARTER = """\
alias: Say hello
description: What it does, for people and for agents.
fields:
  who:
    name: Whom
    required: true
    selector: {text: {}}
sequence:
  - variables: {answer: {text: "Hello {{ who }}"}}
  - stop: done
    response_variable: answer
"""


class Subject(Struct, frozen=True):
    """A kind of thing that is edited.

    Attributes:
        kind: automation or script.
        path: Of the list of all.
        starter: The YAML that a new one begins with.
        find: Returns the id that a request is about; raises `NotFound`.
        read: Returns text and hash of one; raises `NotFound`.
        save: Writes one, given its id (None for a new one), its text, the hash of what was edited, and the id that a
            new one shall have; returns its id.
        problems: Returns what is wrong with a text; it may read files.
        in_words: Returns what one does, from its data; raises `SchemaError`.
        place: Returns the path of the page of one.
        editor: Returns the path of its editor, given its id and a query.
    """

    kind: str
    shape: Shape
    path: str
    starter: str
    find: Callable[[HttpCall], str]
    read: Callable[[str], Awaitable[tuple[str, str]]]
    save: Callable[[str | None, str, str | None, str], Awaitable[str]]
    problems: Callable[[str], list[Problem]]
    in_words: Callable[[Mapping[str, Any]], str]
    place: Callable[[str], str]
    editor: Callable[[str, str], str]


def automation_subject(automations: Automations, editor: AutomationEditor) -> Subject:
    """Return automations as what is edited."""

    async def read(id: str) -> tuple[str, str]:
        written = await editor.read_yaml(id)
        return written.text, written.hash

    async def save(id: str | None, text: str, base: str | None, new_id: str) -> str:
        return (await editor.save_yaml(id, text, base)).written.id

    return Subject(
        kind="automation",
        shape=AUTOMATION_SHAPE,
        path="/automations",
        starter=AUTOMATION_STARTER,
        find=lambda call: automations.status(call.params["id"]).id,
        read=read,
        save=save,
        problems=problems_of,
        in_words=lambda item: sentence(automation_grammar(as_written(item))),
        place=automation_path,
        editor=lambda id, query: automation_path(id, f"/edit?{query}"),
    )


def script_subject(editor: ScriptEditor) -> Subject:
    """Return scripts as what is edited."""

    async def read(id: str) -> tuple[str, str]:
        written = await editor.read(id)
        return written.text, written.hash

    def in_words(item: Mapping[str, Any]) -> str:
        steps = sequence(as_written(item.get("sequence") or []))
        return clause(ACTION, steps[0]) if steps else ""

    return Subject(
        kind="script",
        shape=SCRIPT_SHAPE,
        path="/scripts",
        starter=SCRIPT_STARTER,
        find=lambda call: call.request.query.get("id", ""),
        read=read,
        save=editor.save,
        problems=lambda text: problems_of(text, editor.judge, SCRIPT),
        in_words=in_words,
        place=script_place,
        editor=lambda id, query: f"/scripts/edit?id={quote(id, safe='')}&{query}",
    )
