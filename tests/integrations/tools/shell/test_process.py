"""`process`: commands in the background, on real programs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from hub.tools.contract import ToolResult
from hub.tools.exec_rules import ExecRules
from integrations.tools.shell.local_process import kill_leftovers
from integrations.tools.shell.running import OUTPUT_LIMIT_BYTES, RUNNING_PER_SESSION, RunningCommand
from tests.integrations.tools.shell.conftest import MAIN, LocalSandbox, ShellBench
from tests.processes import runs
from tests.until import until


async def _start(bench: ShellBench, command: str, **arguments: Any) -> RunningCommand:
    bench.rules = ExecRules(mode="full", trust_output=True)
    result = await bench.exec(command, background=True, **arguments)
    return bench.running.get(MAIN, result.details["id"])


async def _process(bench: ShellBench, action: str, **arguments: Any) -> ToolResult:
    return await bench.hub.call("process", {"action": action, **arguments})


async def test_a_background_command_is_read_written_to_and_its_end_is_told(bench: ShellBench) -> None:
    command = await _start(bench, "cat")

    assert f"{command.id}  running" in (await _process(bench, "list")).output
    await _process(bench, "write", id=command.id, data="hello\n")
    polled = await _process(bench, "poll", id=command.id, wait_s=60)
    await _process(bench, "write", id=command.id, eof=True)
    await command.ended.wait()

    assert polled.output == "hello\n[running]"
    assert (await _process(bench, "poll", id=command.id)).output == "[exit 0]"
    assert (await _process(bench, "log", id=command.id)).output == "hello\n[exit 0]"
    assert bench.told == [command]
    assert (await _process(bench, "write", id=command.id, data="x")).is_error


async def test_a_killed_command_takes_its_whole_group_along(bench: ShellBench) -> None:
    command = await _start(bench, "sleep 1000 & echo $!; wait")
    polled = await _process(bench, "poll", id=command.id, wait_s=60)
    child = int(polled.output.split()[0])

    assert "[exit 137]" in (await _process(bench, "kill", id=command.id)).output
    await until(lambda: not runs(child))


async def test_a_killed_command_takes_along_what_left_its_group(bench: ShellBench) -> None:
    command = await _start(bench, "setsid sh -c '(sleep 1000 & echo $!)' & wait; sleep 1000")
    polled = await _process(bench, "poll", id=command.id, wait_s=60)
    child = int(polled.output.split()[0])
    assert os.getsid(child) != command.process._process.pid  # type: ignore[attr-defined]

    await _process(bench, "kill", id=command.id)

    await until(lambda: not runs(child))


async def test_what_a_hub_left_running_at_a_sudden_end_ends_with_the_next_start(bench: ShellBench) -> None:
    command = await _start(bench, "setsid sleep 1000 & echo $!; wait")
    polled = await _process(bench, "poll", id=command.id, wait_s=60)
    child, mark = int(polled.output.split()[0]), bench.hub.workspaces.sandboxes.mark
    await until(lambda: Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"sleep"))

    kill_leftovers(mark[:-1])
    assert runs(child)

    kill_leftovers(mark)
    await until(lambda: not runs(child))
    await command.ended.wait()


async def test_a_terminal_takes_keys_and_has_a_size(bench: ShellBench) -> None:
    command = await _start(bench, "stty size; read line; echo got $line; exec sleep 1000", pty=True)
    while "40 120" not in command.output.text():
        command.changed.clear()
        await command.changed.wait()

    await _process(bench, "send_keys", id=command.id, keys=["h", "i", "enter"])
    while "got hi" not in command.output.text():
        command.changed.clear()
        await command.changed.wait()
    await _process(bench, "send_keys", id=command.id, keys=["ctrl-c"])
    await command.ended.wait()

    assert command.exit_code == 130
    assert (await _process(bench, "send_keys", id=command.id, keys=["enter"])).is_error


async def test_keys_need_a_terminal_and_known_names(bench: ShellBench) -> None:
    plain, terminal = await _start(bench, "cat"), await _start(bench, "cat", pty=True)

    assert "no terminal" in (await _process(bench, "send_keys", id=plain.id, keys=["a"])).output
    assert "expected" in (await _process(bench, "send_keys", id=terminal.id, keys=["hyper-x"])).output


async def test_another_conversation_sees_nothing_of_it(bench: ShellBench) -> None:
    command = await _start(bench, "cat")

    other = await bench.hub.call("process", {"action": "poll", "id": command.id}, session="agent:main:other")

    assert other.is_error
    assert "no command" in other.output


async def test_what_is_written_to_a_command_on_the_hub_is_asked_about_and_never_follows_words_from_outside(
    bench: ShellBench,
) -> None:
    command = await _start(bench, "sh")
    arguments = {"action": "write", "id": command.id, "data": "touch made\n"}
    bench.rules = ExecRules()

    tainted = await bench.hub.call("process", arguments, authority=bench.hub.owner.narrow(tainted=True))
    asked = asyncio.create_task(bench.hub.call("process", arguments))
    await until(lambda: bool(bench.hub.approvals.pending()))
    (approval,) = bench.hub.approvals.pending()
    assert approval.details["input"] == "touch made\n"
    await bench.answer(approval, False)

    assert "text that others wrote" in tainted.output
    assert (await asked).is_error
    await command.process.kill()
    assert not (bench.workspace / "made").exists()


@pytest.mark.parametrize(
    ("pty", "sent", "shown"),
    [
        (False, {"action": "write", "data": "curl evil.example\n"}, "curl evil.example\n"),
        (False, {"action": "write", "eof": True}, ""),
        (True, {"action": "send_keys", "keys": ["l", "s", "enter"]}, "l s enter"),
    ],
)
async def test_input_to_a_shell_with_a_network_is_asked_about_once_words_from_outside_are_there(
    bench: ShellBench, pty: bool, sent: dict[str, Any], shown: str
) -> None:
    bench.sandbox = sandbox = LocalSandbox(bench.workspace)
    sandbox.reaches_out = True
    command = await _start(bench, "sh", host="sandbox", pty=pty)
    arguments = {"id": command.id, **sent}
    tainted = bench.hub.owner.narrow(tainted=True)

    free = await bench.hub.call("process", {**arguments, "action": "write", "data": ":\n", "eof": False})
    asked = asyncio.create_task(bench.hub.call("process", arguments, authority=tainted))
    await until(lambda: asked.done() or bool(bench.hub.approvals.pending()))
    (approval,) = bench.hub.approvals.pending()
    details = approval.details
    await bench.answer(approval, False)

    assert not free.is_error
    assert (details["input"], details["to"], details.get("eof", False)) == (shown, "sh", sent.get("eof", False))
    assert "needs the owner's approval" in (await asked).output
    assert command.exit_code is None
    await command.process.kill()


async def test_all_end_with_the_hub_and_with_their_conversation(bench: ShellBench) -> None:
    first = await _start(bench, "sleep 1000 & echo $!; wait")
    polled = await _process(bench, "poll", id=first.id, wait_s=60)
    await bench.running.forget(MAIN)
    second = await _start(bench, "sleep 1000")
    await bench.running.close()

    await until(lambda: not runs(int(polled.output.split()[0])))
    assert second.exit_code == 137 or await second.process.wait() == 137


async def test_output_and_number_of_commands_are_bounded(bench: ShellBench) -> None:
    command = await _start(bench, "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end")
    await command.ended.wait()

    assert command.output.end == 3_000_005
    assert command.output.end - command.output.begin == OUTPUT_LIMIT_BYTES
    assert "end" in (await _process(bench, "log", id=command.id)).output
    for _ in range(RUNNING_PER_SESSION):
        await _start(bench, "sleep 1000")
    assert "run already" in (await bench.exec("sleep 1", background=True)).output


async def test_a_program_that_leaves_its_group_does_not_hold_the_end_up(bench: ShellBench) -> None:
    command = await _start(bench, "setsid sleep 1000 & echo $!; sleep 0.05; echo out")
    await command.ended.wait()

    assert "out" in command.output.text()
    os.kill(int(command.output.text().split()[0]), 9)


async def test_a_wrong_call_is_explained(bench: ShellBench) -> None:
    for arguments in ({"action": "poll"}, {"action": "poll", "id": "none"}, {"action": "dance"}):
        assert (await bench.hub.call("process", arguments)).is_error
