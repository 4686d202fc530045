"""Every kind of trigger says whose words it brings; no expression over a message takes long."""

from __future__ import annotations

import ast
import inspect
import time
from pathlib import Path

import pytest

from hub.automation.definition.kinds import OUR_KINDS
from hub.automation.triggers.provenance import is_somebody_elses
from hub.core.context import CHAIN_LIMIT, SYSTEM, Authority, Context
from hub.core.schema import Invalid
from hub.template.searching import SEARCH_S, SEARCHED_CHARS, PatternSearch, pattern

LONGEST_S = (len(SEARCHED_CHARS) + 1) * SEARCH_S
"""The event loop waits no longer for one expression, whatever the text."""
OUTSIDE, CAUSE, TIME = "outside", "cause", "time"
WHOSE = {
    **dict.fromkeys(("webhook", "feed", "mqtt", "command", "file", "calendar"), OUTSIDE),
    **dict.fromkeys(("message", "node", "event", "conversation", "device"), CAUSE),
    **dict.fromkeys(("state", "numeric_state", "template", "agent", "heartbeat", "hook"), CAUSE),
    **dict.fromkeys(("zone", "geo_location", "tag", "persistent_notification"), CAUSE),
    **dict.fromkeys(("time", "time_pattern", "sun", "at", "every", "cron", "hub"), TIME),
}
"""Whose words a trigger brings: anybody's, those of whoever caused it, or nobody's."""


FIRED_BY = {
    **dict.fromkeys(("state", "numeric_state", "template"), "holding"),
    **dict.fromkeys(("time", "time_pattern", "sun", "at", "every", "cron"), "scheduled"),
    "geo_location": "zone",
}
"""Kinds that another module fires for."""


def fires(kind: str) -> list[ast.Call]:
    """The calls with which a kind tells that it fired."""
    file = inspect.getsourcefile(OUR_KINDS.trigger(kind).explain)
    assert file is not None
    module = Path(file)
    tree = ast.parse((module.with_stem(FIRED_BY[kind]) if kind in FIRED_BY else module).read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if ast.unparse(call.func) in {"fire", "host.fire", "self._host.fire"}]


def test_whose_words_each_kind_brings_was_thought_of() -> None:
    assert set(WHOSE) == set(OUR_KINDS.names("trigger"))


@pytest.mark.parametrize("kind", sorted(WHOSE))
def test_each_kind_says_what_it_brings_when_it_fires(kind: str) -> None:
    calls = fires(kind)

    assert calls
    for call in calls:
        said = {word.arg: ast.unparse(word.value) for word in call.keywords}
        match WHOSE[kind]:
            case "outside":
                # An exit code says nothing to anybody.
                assert said.get("tainted") not in (None, "False") or kind == "command", ast.unparse(call)
            case "cause":
                assert len(call.args) == 2, ast.unparse(call)  # with its context the cause goes on
                assert said.get("tainted") not in (None, "False"), ast.unparse(call)
            case "time":
                assert "tainted" not in said, ast.unparse(call)


@pytest.mark.parametrize(
    ("cause", "somebody_elses"),
    [
        (None, False),
        (Context(SYSTEM), False),
        (Context(Authority("owner", owner=True)), False),
        (Context(SYSTEM.narrow(tainted=True)), True),
        (Context(Authority("token:x", scopes=frozenset({"operator.write"}))), True),
        (Context(Authority("peer:x", person="anna")), True),
        (Context(Authority("peer:x")), True),
    ],
)
def test_only_an_owners_cause_is_the_owners(cause: Context | None, somebody_elses: bool) -> None:
    assert is_somebody_elses(cause) is somebody_elses


@pytest.mark.parametrize("find", ["(a|a)*$", "(a|aa)+b", "(a{0,50}){0,50}b", "((a{1,9}){1,9}){1,9}b"])
def test_an_expression_that_takes_long_over_a_message_is_refused(find: str) -> None:
    with pytest.raises(Invalid, match="takes too long"):
        pattern(find)


@pytest.mark.parametrize(
    "find",
    [
        *("(a+)+$", "(.*)*x", "([a-z]+)*!", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", "(?:a?){40}a{40}"),
        *(r"(\w+\s?)*$", "(.+)+@", "a+$", r"\w+\s+\w+!", "x.*y", "(a|b)*!", "a?a?a?a?aaaa"),
    ],
)
def test_no_message_makes_an_expression_take_long(find: str) -> None:
    search = PatternSearch(find)

    for unit in ("a", "x", "a ", "ab", "\n"):
        for _ in range(2):  # what it learns from the first text holds for the second
            began = time.thread_time()
            match = search(unit * 20_000 + "!x")
            took_s = time.thread_time() - began
            assert took_s < LONGEST_S
            assert match is None or match.end() <= SEARCHED_CHARS[0]


def test_a_chain_of_causes_is_bounded() -> None:
    context = Context(SYSTEM)
    for _ in range(CHAIN_LIMIT * 3):
        context = context.child()

    assert len(context.chain) == CHAIN_LIMIT
