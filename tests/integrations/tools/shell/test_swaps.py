"""A file that is swapped while its command is asked about and started: its changed bytes never run."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256

import pytest

from tests.integrations.tools.shell.conftest import ShellBench

RACES = 160
"""Of which more than a hundred begin with the good bytes."""
GOOD = b"#!/bin/sh\necho good >> good-ran\n"
EVIL = b"#!/bin/sh\necho evil >> evil-ran\n"

COMMANDS = (
    "sh job.sh",
    "./job.sh",
    "timeout 9 sh ./job.sh",
    "sh job.sh && true",
    "sh -c './job.sh now'",
    "cd sub && sh ../job.sh",
    "sh -e 'job.sh' | cat",
)

SWAPPER = f"""
import os, sys, time
script, other = sys.argv[1], sys.argv[1] + ".other"
def put(path, data):
    with open(path, "wb") as file: file.write(data)
while True:
    for _ in range(20):
        put(script, {EVIL!r})
        time.sleep(0.00005)
        put(script, {GOOD!r})
        put(other, {EVIL!r})
        os.chmod(other, 0o755)
        os.replace(other, script)
        put(script, {GOOD!r})
        time.sleep(0.0001)
    time.sleep(0.002)
"""
"""Changes a script as fast as it goes: in place, and by another file of its name."""


async def test_of_a_hundred_races_none_runs_changed_bytes(bench: ShellBench) -> None:
    script = bench.workspace / "job.sh"
    script.write_bytes(GOOD)
    script.chmod(0o755)
    (bench.workspace / "sub").mkdir()
    good = sha256(GOOD).hexdigest()
    swapper = subprocess.Popen([sys.executable, "-I", "-S", "-c", SWAPPER, script])  # noqa: ASYNC220
    try:
        for race in range(RACES):
            command = COMMANDS[race % len(COMMANDS)]
            approval, running = await bench.asked(command)
            await bench.answer(approval, good in str(approval.details))
            await running
    finally:
        swapper.kill()
        swapper.wait()

    started = sum(each["verdict"] == "once" for each in await bench.log.latest(500))
    assert started
    assert not list(bench.workspace.rglob("evil-ran"))


async def test_what_was_not_swapped_runs_by_its_sealed_copy(bench: ShellBench) -> None:
    script = bench.workspace / "job.sh"
    script.write_bytes(GOOD)
    script.chmod(0o755)

    (bench.workspace / "sub").mkdir()

    for command in (*COMMANDS, "env ./job.sh"):
        approval, running = await bench.asked(command)
        await bench.answer(approval, True)
        assert not (await running).is_error

    ran = [(each.parent.name, each.read_text()) for each in sorted(bench.workspace.rglob("good-ran"))]
    assert ran == [(bench.workspace.name, "good\n" * 7), ("sub", "good\n")]


@pytest.mark.parametrize(
    "command", ["ls | cat", "sh -c ls", "timeout 9 ls", "env ls", "sh -xc ls 2>&1", "nice -n 1 ls"]
)
async def test_a_file_with_the_name_of_a_program_never_runs_in_its_place(bench: ShellBench, command: str) -> None:
    (bench.workspace / "ls").write_bytes(EVIL)
    (bench.workspace / "ls").chmod(0o755)

    approval, running = await bench.asked(command)
    await bench.answer(approval, True)

    assert not (await running).is_error
    assert not (bench.workspace / "evil-ran").exists()


async def test_what_is_swapped_behind_code_and_unnamed_files_is_seen(bench: ShellBench) -> None:
    (bench.workspace / "sub").mkdir()
    for name in ("job.sh", "sub/job.sh", "x.py", "Makefile", "sub/Makefile"):
        (bench.workspace / name).write_text("before")
    commands = {
        "bash -c 'x=1; sh job.sh'": "job.sh",
        "python3 -m x": "x.py",
        "make all": "Makefile",
        "make -C sub": "sub/Makefile",
        "sort --compress-program=./job.sh x.py": "job.sh",
    }

    for command, name in commands.items():
        (bench.workspace / name).write_text("before")
        approval, running = await bench.asked(command)
        (bench.workspace / name).write_text("after")
        await bench.answer(approval, True)
        assert "changed; it was not run" in (await running).output
    ambiguous = await bench.exec("cd sub && sh job.sh")
    for at in range(100):
        (bench.workspace / f"f{at}").touch()
    many = await bench.exec("cat " + " ".join(f"f{at}" for at in range(100)) + " && sh job.sh")

    assert "several folders" in ambiguous.output
    assert "more than 100 files" in many.output


@pytest.mark.parametrize("command", ["sh job.sh", "./job.sh", "sh sub/far.sh", "sh -c 'sh job.sh'"])
async def test_what_a_script_reads_is_not_exchanged_while_its_owner_is_asked(bench: ShellBench, command: str) -> None:
    (bench.workspace / "sub").mkdir()
    scripts = {"job.sh": ". ./lib.sh\n", "sub/far.sh": ". sub/near.sh", "sub/near.sh": ". ./lib.sh"}
    for name, text in scripts.items():
        (bench.workspace / name).write_text(f"#!/bin/sh\n{text}")
        (bench.workspace / name).chmod(0o755)
    lib = bench.workspace / "lib.sh"
    lib.write_bytes(GOOD)

    approval, running = await bench.asked(command)
    lib.write_bytes(EVIL)
    await bench.answer(approval, True)
    refused = (await running).output
    lib.write_bytes(GOOD)
    approval, running = await bench.asked(command)
    await bench.answer(approval, True)
    await running

    assert "changed; it was not run" in refused
    assert not (bench.workspace / "evil-ran").exists()
    assert (bench.workspace / "good-ran").exists()
    assert (
        "looked at again when it starts; what is exchanged after that, and what else it reads, is not" in approval.text
    )
