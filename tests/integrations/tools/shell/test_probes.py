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
from node.rules.command_line import CommandRefused
from node.rules.harmless import GRAMMARS, grammar_of

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

EVERYDAY = """
ls | ls -la | ls -lh sub | ls -lt | ls -1 sub | ls -d sub | ls --all | ls -lhS | ls . | ls x.py | ls ./sub | ls sub/
cat notes.txt | cat -n notes.txt | cat a b | cat ./notes.txt | cat 'notes.txt' | cat "notes.txt" | cat missing.txt
head notes.txt | head -n 5 notes.txt | head -n5 a b | head -c 100 x | tail notes.txt | tail -n +2 notes.txt
tail -c 1k x | grep -n id notes.txt | grep -i ID notes.txt | grep -c id a b | grep -E 'i|d' x | grep -A 2 -B 1 id x
grep -w id x | grep '^id$' notes.txt | grep -F '{id}' x | grep -o 'i.*' x | grep -v '#' x | grep 'a{' x | wc a b
wc -l notes.txt | wc -w ./notes.txt | cut -d : -f 1 x | cut -c 1-5 x | diff a b | diff -u a b | cmp a b | cmp -s a b
stat notes.txt | stat -t sub | du -sh | du -sh sub | du -h -d 1 | df -h | df -hT | sha256sum x.py | md5sum a b
sha1sum x | date | date +%F | date '+%Y-%m-%d %H:%M:%S' | date -u | date +%s | date --iso-8601 | date '+Week %V, %A'
uname -a | uptime | uptime -p | nproc | free -h | free -m | lscpu | lsblk | whoami | id | id -u | pwd | arch | true
sleep 1
"""


def _asks(text: str, workspace: Path) -> bool:
    try:
        command = read_command(text)
        if command.words and grammar_of(command.words) is None and len(text) % 8:
            return True  # what no grammar takes needs a yes; reading a large program for each would take long
        bound = bind(command, str(workspace))
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
    (made / "sub").mkdir()
    os.symlink("/etc/passwd", made / "link")
    os.symlink("/etc", made / "lnd")
    os.symlink("/nowhere", made / "dang")
    os.symlink("/etc/passwd", made / "sub" / "passwd")
    os.mkfifo(made / "fifo")
    return made


def test_of_all_probes_none_is_allowed_without_asking(workspace: Path) -> None:
    allowed = [text for text in (*PROBES, *MORE, "cat link", "ls link") if not _asks(text, workspace)]

    assert allowed == []


@pytest.mark.parametrize("text", [text.strip() for line in EVERYDAY.split("\n") for text in line.split(" | ") if text])
def test_what_only_looks_is_allowed(workspace: Path, text: str) -> None:
    assert not _asks(text, workspace)


def test_the_verdict_is_the_same_whether_a_file_exists_or_not(workspace: Path) -> None:
    for text in ("cat {}", "ls {}", "sort {}", "grep x {}", "rm {}", "cat /etc/{}"):
        assert _asks(text.format("notes.txt"), workspace) is _asks(text.format("missing.txt"), workspace)


@pytest.mark.parametrize(
    "word",
    [
        "-x",
        "+x",
        "@x",
        "~x",
        ".x",
        "/x",
        "a/x",
        "x|",
        "|x",
        "<x",
        ">x",
        "x;y",
        "x&",
        "$x",
        "`x`",
        "x\\y",
        "",
        " x",
        "x" * 256,
    ],
)
def test_a_star_of_the_configuration_is_no_option_path_or_command(word: str) -> None:
    rules = ExecRules.from_config({"allow": ["strings *"]}, {})

    assert rules.allows(("strings", "x,y:z"))
    assert not rules.allows(("strings", word))


@pytest.mark.parametrize("line", ["basename '*'", 'basename "*" x', " * x", "basename @any@", "basename '*' *"])
def test_a_star_in_quotes_or_for_a_program_is_not_allowed(line: str) -> None:
    with pytest.raises(CommandRefused, match="without quotes"):
        ExecRules.from_config({"allow": [line]}, {})


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
        *("jq", "xsltproc", "diff3", "sdiff", "dc", "htop", "cscope", "ctags", "patch", "journalctl", "homarus", "tig"),
        *("autoconf", "flask", "claude", "nginx", "gvim", "code", "nmcli", "mariadb", "pm2", "needrestart", "dosbox"),
        *("node20", "ruby3.3", "php8.2", "lua5.4", "gcc-13", "git", "awk", "sed", "vim", "ssh", "docker", "make", "su"),
    ],
)
def test_wrappers_interpreters_and_multi_purpose_programs_are_known_with_folder_and_version(word: str) -> None:
    assert runs_others((word,)) is not None
    assert runs_others((f"/usr/bin/{word}",)) is not None
