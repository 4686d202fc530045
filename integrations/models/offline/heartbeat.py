"""Heartbeats without a language model: what happened is passed on, what would have to be judged is said not to be.

A pure function over the words of `hub.automation.heartbeat.prompt`.
"""

from __future__ import annotations

import re

from integrations.models.offline.replies import reply

ASKED = "answer HEARTBEAT_OK and nothing else"
_HAPPENED = re.compile(r"^What happened since the last time:\n((?:- \[[^\]]*\] .*\n?)+)", re.MULTILINE)
_CHECKS = re.compile(r"^Checks that are due:\n((?:- .*\n?)+)", re.MULTILINE)
_WHEN = re.compile(r"^- \[[^\]]*\] ", re.MULTILINE)


def answer_heartbeat(text: str, language: str) -> str:
    """Return the answer to a heartbeat, a text that has `ASKED` in it."""
    if happened := _HAPPENED.search(text):
        return _WHEN.sub("", happened[1]).strip()
    checks = _CHECKS.search(text)
    return reply("heartbeat", language, lines=checks[1].strip()) if checks is not None else "HEARTBEAT_OK"
