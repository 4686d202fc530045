"""Expressions that others wrote run where they can be ended: every use of Python's `re` with one is looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.security.test_foreign_parsers import trees_with

CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
ALLOWED = {
    "hub/agent/tools/hub_docs.py": "words, escaped",
    "hub/agent/conversation/old_results.py": "a pattern of the shell, made by fnmatch.translate, which never runs away",
    "hub/automation/services/web_text.py": "names of tags from our own list",
    "hub/core/lazy_pattern.py": "our own, compiled on first use",
    "hub/core/secret.py": "values, escaped",
    "hub/gateway/diagnostics.py": "words of the configuration, escaped",
    "hub/messaging/commands/model_names.py": "a word, escaped",
    "hub/messaging/outbox/chunking.py": "one of our own, handed to a function",
    "hub/models/thinking.py": "our own levels",
    "hub/skills/scan_rules.py": "our own, in a table",
    "hub/entities/helpers/inputs.py": "looks whether it is a pattern; the browser of its owner runs it",
    "hub/template/searching.py": "looks whether it is a pattern; the package `regex` runs it",
    "integrations/channels/imessage/events.py": "names of the configuration, escaped; the edges are ours",
    "integrations/channels/irc/protocol.py": "a name, escaped; the edge is ours",
    "integrations/channels/mattermost/events.py": "the account's own name, escaped; the edges are ours",
    "integrations/channels/slack/events.py": "the account's own id, given by Slack",
    "integrations/channels/telegram/schema.py": "our own, one for each secret",
    "integrations/channels/xmpp/events.py": "the account's own nick, escaped; the edges are ours",
    "integrations/models/offline/arithmetic.py": "our own, in a table",
    "integrations/models/offline/chinese_times.py": "our own, chosen by language",
    "integrations/models/offline/corrections.py": "our own, in a table",
    "integrations/models/offline/english_times.py": "our own, handed to a function",
    "integrations/models/offline/entries.py": "our own, in a table",
    "integrations/models/offline/hearing.py": "words that come with the hub",
    "integrations/models/offline/lists.py": "our own, in a table",
    "integrations/tools/browser/tab.py": "a number",
    "integrations/tools/calendar/events.py": "the owner's; the process for outside content runs it",
    "integrations/tools/calendar/schema.py": "looks whether it is a pattern; the process for outside content runs it",
    "integrations/tools/files/grep_worker.py": "a model's, in a process that is killed when it is slow",
}
"""Files that hand `re` what does not stand there, each with the reason."""


def is_written_here(node: ast.expr) -> bool:
    """Whether an expression is made of literals and constants of a module alone."""
    names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    allowed = {"re", "escape", "join", "map", "sorted", "len", "key"}
    return all(name.upper() == name or name in allowed for name in names) and all(
        isinstance(call.func, ast.Name | ast.Attribute) for call in calls
    )


def foreign(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that hand `re` an expression that is not written there."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.func, ast.Attribute):
            continue
        is_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.func.attr in CALLS
        if is_re and not is_written_here(node.args[0]):
            yield node.lineno


def files() -> dict[str, list[int]]:
    found = {path: list(foreign(tree)) for path, tree in trees_with(["re"])}
    return {path: lines for path, lines in found.items() if lines}


def test_what_others_wrote_is_never_run_by_re() -> None:
    assert files().keys() == ALLOWED.keys()


def test_an_expression_from_outside_is_found() -> None:
    assert list(foreign(ast.parse("import re\nre.compile(config['regex'])\nre.compile(rf'{_DAY}x')"))) == [2]
