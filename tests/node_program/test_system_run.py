"""What runs on a node without a yes, what needs one, and that a yes is for exactly what was shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from node.errors import NodeError
from node.exec_policy import policy_for
from node.home import NodeHome, NodeProblem
from node.system_run import SystemRun
from tests.integrations.tools.shell.test_probes import MORE, PROBES


@pytest.fixture
def home(tmp_path: Path) -> NodeHome:
    return NodeHome(tmp_path / "node")


@pytest.fixture
def node(home: NodeHome) -> SystemRun:
    return SystemRun(home)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "hello.sh"
    path.write_text("echo hello\n")
    return path


async def approved(node: SystemRun, params: dict[str, Any], **more: Any) -> dict[str, Any]:
    prepared = await node.prepare(params)
    return {**params, "approved": True, "systemRunPlan": prepared["plan"], **more}


async def refusal(node: SystemRun, params: dict[str, Any]) -> str:
    with pytest.raises(NodeError) as refused:
        await node.run(params)
    assert refused.value.code == "SYSTEM_RUN_DENIED"
    return refused.value.message


async def test_a_command_that_only_looks_at_the_machine_runs_at_once(node: SystemRun) -> None:
    done = await node.run({"command": ["uname", "-s"]})

    assert done == {"exitCode": 0, "timedOut": False, "success": True, "stdout": "Linux\n", "stderr": "", "error": None}


@pytest.mark.parametrize(
    "command",
    [["cat", "notes.txt"], ["ls", "notes"], ["sh", "-c", "id"], ["env", "uname"], ["touch", "x"], ["head", "-c1", "x"]],
)
async def test_all_else_needs_a_yes(node: SystemRun, command: list[str]) -> None:
    assert (await refusal(node, {"command": command})).startswith("approval required")
    assert (await node.prepare({"command": command}))["needsApproval"]


async def test_no_probe_of_the_hubs_own_tests_runs_without_a_yes(node: SystemRun, tmp_path: Path) -> None:
    ran = []
    for text in (*PROBES[::4], *MORE):
        try:
            prepared = await node.prepare({"rawCommand": text, "cwd": str(tmp_path)})
        except NodeError:
            continue
        ran += [] if prepared["needsApproval"] else [text]

    assert ran == []


async def test_what_was_approved_runs(node: SystemRun, script: Path) -> None:
    params = {"command": ["sh", str(script)], "cwd": str(script.parent)}

    done = await node.run(await approved(node, params))

    assert done["stdout"] == "hello\n"


async def test_the_plan_names_the_script_that_can_change(node: SystemRun, script: Path) -> None:
    plan = (await node.prepare({"command": ["sh", "hello.sh"], "cwd": str(script.parent), "agentId": "main"}))["plan"]

    assert plan["mutableFileOperand"]["path"] == str(script)
    assert plan["mutableFileOperand"]["argvIndex"] == 1
    assert plan["argv"][0].startswith("/")
    assert plan["agentId"] == "main"


@pytest.mark.parametrize("kept", [None, ("argv", "cwd", "mutableFileOperand")])
async def test_a_yes_is_not_for_a_script_that_changed_since(
    node: SystemRun, script: Path, kept: tuple[str, ...] | None
) -> None:
    params = await approved(node, {"command": ["sh", str(script)]})
    if kept is not None:  # a gateway that keeps of a plan only what it knows
        params["systemRunPlan"] = {name: params["systemRunPlan"][name] for name in kept}
    script.write_text("echo evil\n")  # noqa: ASYNC240  another program does it at any moment

    assert "systemRunPlan differs" in await refusal(node, params)


async def test_a_yes_is_for_one_command_in_one_folder(node: SystemRun, script: Path, tmp_path: Path) -> None:
    params = await approved(node, {"command": ["sh", str(script)]})

    assert "argv" in await refusal(node, {**params, "command": ["sh", "-x", str(script)]})
    assert "cwd" in await refusal(node, {**params, "cwd": str(tmp_path)})
    assert "systemRunPlan" in await refusal(node, {**params, "systemRunPlan": None})


async def test_what_is_always_allowed_runs_again_without_a_yes(node: SystemRun, home: NodeHome, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    params = {"command": ["cat", "a"], "cwd": str(tmp_path), "agentId": "main"}

    await node.run(await approved(node, params, approvalDecision="allow-always"))

    assert (await node.run(params))["stdout"] == "one"
    assert "approval required" in await refusal(node, {**params, "agentId": "other"})
    assert "approval required" in await refusal(node, {**params, "command": ["cat", "b"]})
    (tmp_path / "a").write_text("two")
    assert "approval required" in await refusal(node, params)
    assert home.approvals_file.stat().st_mode & 0o777 == 0o600


async def test_an_interpreter_is_never_always_allowed(node: SystemRun, script: Path) -> None:
    params = {"command": ["sh", str(script)]}

    await node.run(await approved(node, params, approvalDecision="allow-always"))

    assert "interpreter" in await refusal(node, params)


async def test_output_that_is_cut_says_so(node: SystemRun, home: NodeHome) -> None:
    home.write(home.approvals_file, {"agents": {"*": {"allowlist": [{"command": "seq *"}]}}})

    much, little = [(await node.run({"command": ["seq", last]}))["stdout"] for last in ("60000", "2")]

    assert much.endswith("[cut after 200000 bytes]")
    assert little == "1\n2\n"


async def test_a_rule_in_words_is_that_of_the_hub(node: SystemRun, home: NodeHome) -> None:
    home.write(home.approvals_file, {"agents": {"*": {"allowlist": [{"command": "printf *"}]}}})

    assert (await node.run({"command": ["printf", "hi"]}))["stdout"] == "hi"
    assert "approval required" in await refusal(node, {"command": ["printf", "hi", "more"]})


@pytest.mark.parametrize(
    ("defaults", "runs"),
    [
        ({"security": "deny"}, False),
        ({"ask": "off"}, False),
        ({"ask": "always"}, False),
        ({"security": "full"}, True),
        ({"security": "full", "ask": "always"}, False),
    ],
)
async def test_the_file_of_rules_decides(
    node: SystemRun, home: NodeHome, tmp_path: Path, defaults: dict[str, str], runs: bool
) -> None:
    home.write(home.approvals_file, {"version": 1, "defaults": defaults})
    params = {"command": ["cat", "/dev/null"]}

    if runs:
        assert (await node.run(params))["success"]
    else:
        await refusal(node, params)


async def test_a_node_that_denies_all_denies_what_is_approved(node: SystemRun, home: NodeHome, script: Path) -> None:
    params = await approved(node, {"command": ["sh", str(script)]})
    home.write(home.approvals_file, {"defaults": {"security": "deny"}})

    assert "runs no commands" in await refusal(node, params)


@pytest.mark.parametrize(
    "file",
    [{"defaults": {"security": "ful"}}, {"agents": []}, {"agents": {"main": {"allowlist": [{"pattern": "/bin/*"}]}}}],
)
async def test_rules_that_cannot_be_read_run_nothing(node: SystemRun, home: NodeHome, file: dict[str, Any]) -> None:
    home.write(home.approvals_file, file)

    with pytest.raises(NodeProblem, match=r"exec-approvals\.json.*expected"):
        policy_for(home, "main")
    assert "expected" in await refusal(node, {"command": ["uname"], "agentId": "main"})


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({}, "command: expected"),
        ({"command": []}, "command: expected"),
        ({"command": ["nosuch-program"]}, "no program 'nosuch-program'"),
        ({"command": ["uname"], "cwd": "somewhere"}, "cwd: 'somewhere'"),
        ({"command": ["uname"], "env": {"LD_PRELOAD": "x"}}, "env: 'LD_PRELOAD' cannot be set"),
        ({"command": ["uname", "a\u202eb"]}, "U+202E"),
        ({"command": ["uname"], "timeoutMs": "soon"}, "timeoutMs: expected a number"),
    ],
)
async def test_bad_input_is_named(node: SystemRun, params: dict[str, Any], named: str) -> None:
    with pytest.raises(NodeError) as refused:
        await node.run(params)

    assert refused.value.code == "INVALID_PARAMS"
    assert named in refused.value.message


async def test_a_command_that_takes_too_long_is_ended(node: SystemRun) -> None:
    done = await node.run({"command": ["sleep", "600"], "timeoutMs": 100})

    assert (done["exitCode"], done["timedOut"], done["success"]) == (None, True, False)
    assert done["error"] == "it was ended after 0.1 s"


async def test_the_hub_sees_the_rules_and_their_hash(node: SystemRun, home: NodeHome) -> None:
    before = await node.approvals({})
    home.write(home.approvals_file, {"defaults": {"ask": "always"}})

    after = await node.approvals({})
    assert (before["exists"], before["file"]["version"]) == (False, 1)
    assert (after["exists"], after["file"]) == (True, {"defaults": {"ask": "always"}})
    assert before["hash"] != after["hash"]
    assert json.dumps(after)
