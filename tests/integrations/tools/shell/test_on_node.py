"""Commands on a node: prepared, approved as they are, and run only while they stay so."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.context import Authority
from hub.tools.exec_rules import ExecRules
from tests.integrations.tools.shell.conftest import ShellBench
from tests.nodes.making import Cable, ScriptedNode, admit

PLAN: dict[str, Any] = {
    "argv": ["/usr/bin/echo", "hi"],
    "cwd": "/home/user",
    "commandText": "/usr/bin/echo hi",
    "mutableFileOperand": {"argvIndex": 0, "path": "/usr/bin/echo", "sha256": "a049fb47"},
}
RAN = {"exitCode": 0, "timedOut": False, "success": True, "stdout": "hi\n", "stderr": "", "error": None}


@pytest.fixture
async def laptop(bench: ShellBench) -> ScriptedNode:
    cable, node = (
        Cable(),
        ScriptedNode("l" * 64, "Laptop", "linux", {"system.run.prepare": {"plan": PLAN}, "system.run": RAN}),
    )
    await bench.nodes.add(cable)
    cable.connect(node)
    admit(bench.nodes, node.id)
    return node


async def test_the_owner_approves_exactly_what_the_node_has_prepared(bench: ShellBench, laptop: ScriptedNode) -> None:
    approval, task = await bench.asked("echo hi", host="node")
    await bench.answer(approval, yes=True)
    result = await task

    assert approval.details["argv"] == PLAN["argv"]
    assert approval.details["files"] == {"/usr/bin/echo": "a049fb47"}
    assert approval.details["node"] == f"Laptop ({laptop.id})"
    assert "hi" in result.output
    assert not result.trusted
    ran = laptop.asked[-1][1]
    assert (ran["command"], ran["cwd"], ran["approved"]) == (PLAN["argv"], "/home/user", True)
    assert ran["systemRunPlan"] == PLAN
    (logged,) = await bench.log.latest(5)
    assert (logged["place"], logged["verdict"], logged["exit_code"]) == ("node Laptop", "once", 0)


async def test_nothing_runs_that_changed_after_the_approval(bench: ShellBench, laptop: ScriptedNode) -> None:
    approval, task = await bench.asked("echo hi", host="node")
    laptop.answers["system.run.prepare"] = {"plan": {**PLAN, "mutableFileOperand": {"sha256": "other"}}}
    await bench.answer(approval, yes=True)
    result = await task

    assert "changed; it was not run" in result.output
    assert "system.run" not in [command for command, _ in laptop.asked]


async def test_a_no_runs_nothing(bench: ShellBench, laptop: ScriptedNode) -> None:
    approval, task = await bench.asked("echo hi", host="node")
    await bench.answer(approval, yes=False)

    assert (await task).is_error
    assert "system.run" not in [command for command, _ in laptop.asked]


@pytest.mark.parametrize(
    ("arguments", "mode", "told"),
    [
        ({"background": True}, "ask", "nothing runs in the background"),
        ({"node": "desktop"}, "ask", "those that may be asked for system.run: Laptop"),
        ({}, "deny", "switched off"),
        ({}, "allowlist", "only commands of exec.allow"),
    ],
)
async def test_what_cannot_run_on_a_node_says_why(
    bench: ShellBench, laptop: ScriptedNode, arguments: dict[str, Any], mode: str, told: str
) -> None:
    bench.rules = ExecRules(mode)

    result = await bench.exec("echo hi", host="node", **arguments)

    assert told in result.output
    assert laptop.asked == []


async def test_words_from_outside_run_nothing_on_a_node(bench: ShellBench, laptop: ScriptedNode) -> None:
    authority: Authority = bench.hub.owner.narrow(tainted=True)

    result = await bench.exec("echo hi", authority, host="node")

    assert result.is_error
    assert laptop.asked == []


async def test_a_failure_of_the_program_is_an_error_with_its_output(bench: ShellBench, laptop: ScriptedNode) -> None:
    bench.rules = ExecRules("full")
    laptop.answers["system.run"] = {**RAN, "exitCode": 3, "stdout": "", "stderr": "no such file"}

    result = await bench.exec("ls nowhere", host="node", node="laptop")

    assert result.is_error
    assert "no such file" in result.output
    assert "[exit code 3]" in result.output
