"""The files that may be written without approval in a tainted turn, and by anyone but the owner.

An allow-list: text and data below `inbox/`, with names that no program acts on. All else is asked about.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from hub.core.context import Authority
from hub.core.phrases import phrase
from hub.security.jail_path import components, folded_name
from integrations.tools.files.patching import PatchAction, parse_patch

INBOX = "inbox"
SUFFIXES = frozenset({".md", ".txt", ".csv", ".tsv", ".json", ".ics", ".vcf", ".eml", ".log"})
"""Of what no program runs when it is opened: HTML and XML have scripts."""
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0")
"""Letters that are not seen."""
_ACTED_ON = frozenset(
    {
        *("agents.md", "claude.md", "gemini.md", "copilot-instructions.md", "skill.md", "soul.md", "identity.md"),
        *("user.md", "tools.md", "heartbeat.md", "bootstrap.md", "memory.md"),
        *("package.json", "composer.json", "tasks.json", "launch.json", "settings.json", "deno.json", "pom.xml"),
        *("build.xml", "requirements.txt", "constraints.txt", "cmakelists.txt"),
    }
)
"""Names below `inbox/` by which assistants and build tools know their instructions."""


def approval_to_write(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why writing a file needs the owner's approval; None when it does not.

    Raises:
        PathRefused: The path leads out of the workspace.
    """
    return None if is_unasked(components(arguments["path"])) else _reason(authority)


def approval_to_patch(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why a patch needs the owner's approval; None when it does not.

    Deleting or moving always needs approval.

    Raises:
        InvalidRequest: It is not a patch.
        PathRefused: A path leads out of the workspace.
    """
    sections = parse_patch(arguments["input"])
    unasked = all(
        section.action is not PatchAction.DELETE
        and section.target == section.path
        and is_unasked(components(section.path))
        for section in sections
    )
    return None if unasked else _reason(authority)


def _reason(authority: Authority) -> str | None:
    if authority.owner and not authority.tainted:
        return None
    outside, other = phrase("text that others wrote is in this conversation"), phrase("the owner did not ask for it")
    who = outside if authority.tainted else other
    return phrase("{who}, and only text and data below {inbox}/ are written then without asking", who=who, inbox=INBOX)


def is_unasked(names: tuple[str, ...]) -> bool:
    """Whether a tainted turn may write a file of the workspace without approval."""
    if len(names) < 2 or names[0] != INBOX or not all(_is_plain(name) for name in names):
        return False
    name = folded_name(names[-1])
    return PurePosixPath(name).suffix in SUFFIXES and name not in _ACTED_ON


def _is_plain(name: str) -> bool:
    """Whether a name is what it looks like: letters and digits, with `-`, `_`, `.` and blanks among them."""
    return (
        name[0].isalnum()
        and name[-1] != " "
        and all((each.isalnum() and each not in _BLANKS) or each in "-_. " for each in name)
        and unicodedata.normalize("NFKC", name) == name
    )
