"""A file that is swapped while its command is asked about and started: its changed bytes never run."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256

from tests.integrations.tools.shell.conftest import ShellBench

RACES = 160
"""Of which more than a hundred begin with the good bytes."""
GOOD = b"#!/bin/sh\necho good >> good-ran\n"
EVIL = b"#!/bin/sh\necho evil >> evil-ran\n"

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
    good = sha256(GOOD).hexdigest()
    swapper = subprocess.Popen([sys.executable, "-I", "-S", "-c", SWAPPER, script])  # noqa: ASYNC220
    try:
        for race in range(RACES):
            command = ("sh job.sh", "./job.sh", "timeout 9 sh ./job.sh", "sh job.sh && true")[race % 4]
            approval, running = await bench.asked(command)
            await bench.answer(approval, good in str(approval.details))
            await running
    finally:
        swapper.kill()
        swapper.wait()

    started = sum(each["verdict"] == "once" for each in await bench.log.latest(500))
    assert started
    assert not (bench.workspace / "evil-ran").exists()


async def test_what_was_not_swapped_runs_by_its_sealed_copy(bench: ShellBench) -> None:
    script = bench.workspace / "job.sh"
    script.write_bytes(GOOD)
    script.chmod(0o755)

    for command in ("sh job.sh", "./job.sh", "timeout 9 sh ./job.sh", "env ./job.sh", "sh job.sh && true"):
        approval, running = await bench.asked(command)
        await bench.answer(approval, True)
        assert not (await running).is_error

    assert (bench.workspace / "good-ran").read_text() == "good\n" * 5
