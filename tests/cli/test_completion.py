"""`homarus completion`: scripts that real shells complete with, and that start nothing."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal

LIMIT_S = 30.0
TYPED = {
    "homarus sta": ["start", "state", "status"],
    "homarus sessions ta": ["tail"],
    "homarus --url x sessions ta": ["tail"],
    "homarus agents remove --js": ["--json"],
    "homarus cron add --wake n": ["next-heartbeat", "now"],
    "homarus completion z": ["zsh"],
}


def bash(script: Path, line: str) -> list[str]:
    words = line.split(" ")
    typed = f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _homarus"
    shown = f'{typed}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    ran = subprocess.run(["bash", "-c", shown], capture_output=True, text=True, check=True)
    return ran.stdout.split()


def fish(script: Path, line: str) -> list[str]:
    typed = f"source {script}; complete -C {line!r}"
    ran = subprocess.run(["fish", "--no-config", "-c", typed], capture_output=True, text=True, check=True)
    return [each.partition("\t")[0] for each in ran.stdout.splitlines()]


@pytest.mark.parametrize(("name", "shell"), [("bash", bash), ("fish", fish)])
def test_a_shell_completes_commands_options_and_choices(
    type_: Terminal, tmp_path: Path, name: str, shell: Callable[[Path, str], list[str]]
) -> None:
    script = tmp_path / "script"
    script.write_text(type_("completion", name).out)

    assert {line: sorted(shell(script, line)) for line in TYPED} == TYPED


def test_zsh_completes_them_too(type_: Terminal, tmp_path: Path) -> None:
    (tmp_path / "_homarus").write_text(type_("completion", "zsh").out)
    shell, terminal = pty.fork()
    if shell == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "xterm", "HOME": str(tmp_path)})
    os.write(terminal, f"fpath=({tmp_path} $fpath); autoload -Uz compinit; compinit -D -u; echo rea''dy\n".encode())
    wait_for(terminal, "ready")

    os.write(terminal, b"homarus sessions ta\t")

    wait_for(terminal, "homarus sessions tail")
    os.close(terminal)
    os.waitpid(shell, 0)


def wait_for(terminal: int, words: str) -> None:
    """Read until these words are on the screen."""
    seen, deadline = "", time.monotonic() + LIMIT_S
    while words not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65_536).decode("utf-8", "replace")
