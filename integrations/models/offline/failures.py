"""Explains a tool's error to a person, in the language of the conversation. Pure functions."""

from __future__ import annotations

import re

from integrations.models.offline.recognizer import ENGLISH
from integrations.models.offline.replies import reply

_KNOWN = (
    (re.compile(r"needs the owner's approval, and there is no one to ask"), "nobody_to_ask"),
    (re.compile(r"needs the owner's approval"), "not_approved"),
    (re.compile(r"(?P<count>\d+) entries match, and nothing was forgotten"), "too_many_to_forget"),
    (re.compile(r"(?P<count>\d+) entries match what is replaced"), "too_many_to_replace"),
    (re.compile(r"nothing was forgotten"), "forget_unavailable"),
    (re.compile(r"longer than (?P<count>\d+) characters"), "too_long"),
    (re.compile(r"(?P<count>\d+) standing reminders already"), "too_many_standing"),
    (
        re.compile(r"in (?P<room>.+?) called (?P<quote>['\"])(?P<name>.*?)(?P=quote) that .* only in: (?P<rooms>.*?);"),
        "not_in_room_but",
    ),
    (re.compile(r"in (?P<room>.+?) called (?P<quote>['\"])(?P<name>.*?)(?P=quote) that"), "not_in_room"),
    (re.compile(r"nothing called '(?P<name>.*?)' that can"), "state_unknown"),
    (re.compile(r"(?P<name>[^'\"]+)['\"]? is new: agents"), "device_new"),
    (re.compile(r"where .* is not known: say the room"), "where_not_known"),
    (re.compile(r"there is nothing called '(?P<name>.*?)' to leave out"), "nothing_to_leave_out"),
    (re.compile(r"cannot be reached now"), "device_unavailable"),
    (re.compile(r"there is no timer here; there are: (?P<names>.*)"), "no_timer_here"),
    (re.compile(r"there is no timer"), "no_timer"),
    (re.compile(r"nothing that speaks in '(?P<name>.*?)'; there is in: (?P<names>.*)"), "nobody_hears"),
    (re.compile(r"may be any of (?P<names>.*?); say which"), "device_which"),
    (re.compile(r"has no word that can be recognised|topics: expected at least one word"), "topic_unclear"),
    (re.compile(r"the topic .* is too long"), "topic_too_long"),
    (re.compile(r"did not finish within (?P<count>[\d.]+) s"), "too_slow"),
    (re.compile(r"no memory is set up"), "no_memory"),
    (re.compile(r"nothing is remembered here|needs a person of this home|others read along"), "nobodys"),
)
"""Errors of the tools as they word them, and the reply that says the same."""


def failure_text(tool: str, output: str, language: str) -> str:
    """Return in words that a tool failed, and what to do."""
    error = output.removeprefix("error: ")
    for pattern, key in _KNOWN:
        if match := pattern.search(error):
            return reply(key, language, **{"count": "", **match.groupdict()})
    # The words of any other error are English.
    return reply("tool_failed", language, error=error) if language == ENGLISH else reply("failed", language, tool=tool)
