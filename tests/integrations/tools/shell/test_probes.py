"""A corpus of commands that look harmless and are not, or are not known to be: none runs without a yes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hub.core.errors import HubError
from hub.security.root import Root
from hub.tools.command_line import read_command, runs_others
from hub.tools.exec_rules import ExecRules
from integrations.tools.shell.binding import bind
from integrations.tools.shell.verdict import judge
from node.rules.harmless import GRAMMARS

PROBES = (Path(__file__).parent / "probes.txt").read_text().splitlines()
MORE = [
    "ls\nid",
    "ls\\\nid",
    "ls\tx;id",
    "cat <<X\nid\nX",
    "ls \r\nid",
    "ls\x00",
    "ls \u202ex",
    "ls \u2028id",
    "\ufeffls",
    "ls '" + "x" * 9_000 + "'",
    *(f"{program} --{option}" for program in GRAMMARS for option in ("help-me", "output=x", "exec=id", "o")),
    *(f"{program} /etc/passwd" for program in GRAMMARS),
    *(f"{program} ../x" for program in GRAMMARS),
    *(f"{program} -o x" for program in GRAMMARS if program not in ("uname", "grep", "ls")),
]


def _asks(text: str, workspace: Path) -> bool:
    try:
        bound = bind(read_command(text), str(workspace))
    except HubError:
        return True  # it does not run at all
    try:
        judgement = judge(bound, ExecRules(), plain=True, view=Root(workspace), has_rule=lambda bound: False)
    finally:
        bound.close()
    return judgement.verdict is None


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which the files of the probes exist."""
    made = tmp_path_factory.mktemp("workspace")
    for name in ("notes.txt", "a", "b", "x", "y", ".env", "ls", "jq", "x.py"):
        (made / name).write_text("#!/bin/sh\nid\n")
        (made / name).chmod(0o755)
    os.symlink("/etc/passwd", made / "link")
    return made


def test_of_all_probes_none_is_allowed_without_asking(workspace: Path) -> None:
    allowed = [text for text in (*PROBES, *MORE, "cat link", "ls link") if not _asks(text, workspace)]

    assert allowed == []


@pytest.mark.parametrize(
    "text", ["ls", "ls -la", "cat notes.txt", "grep -n id notes.txt", "date +%F", "df -h", "wc a b"]
)
def test_what_only_looks_is_allowed(workspace: Path, text: str) -> None:
    assert not _asks(text, workspace)


def test_the_verdict_is_the_same_whether_a_file_exists_or_not(workspace: Path) -> None:
    for text in ("cat {}", "ls {}", "sort {}", "grep x {}", "rm {}", "cat /etc/{}"):
        assert _asks(text.format("notes.txt"), workspace) is _asks(text.format("missing.txt"), workspace)


@pytest.mark.parametrize(
    "word",
    [
        *(
            "env",
            "sudo",
            "xargs",
            "nohup",
            "timeout",
            "find",
            "busybox",
            "toybox",
            "sh",
            "bash",
            "python3.12",
            "perl5.38",
        ),
        *("node20", "ruby3.3", "php8.2", "lua5.4", "gcc-13", "git", "awk", "sed", "vim", "ssh", "docker", "make", "su"),
    ],
)
def test_wrappers_interpreters_and_multi_purpose_programs_are_known_with_folder_and_version(word: str) -> None:
    assert runs_others((word,)) is not None
    assert runs_others((f"/usr/bin/{word}",)) is not None
