"""`system.run`, `system.run.prepare` and `system.which`: commands on this machine, by its own rules."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from . import programs
from .binding import BoundProgram, bind, read_request, search_path
from .errors import NodeError
from .exec_policy import ExecPolicy, RunVerdict, allow_always, exactly, policy_for
from .home import NodeHome, NodeProblem
from .parameters import Params, flag, number, text, texts
from .rules.command_line import CommandRefused
from .rules.environment import check_environment

RUN_LIMIT_MS = 1_800_000
OUTPUT_LIMIT_BYTES = 200_000

_TAKEN = ("HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "TMPDIR", "PREFIX", "LD_PRELOAD")
"""What a program gets of this process's own environment; Termux needs the last three."""


class SystemRun:
    """The commands that run programs.

    Args:
        home: Has the rules; they are read for each command.
    """

    def __init__(self, home: NodeHome) -> None:
        self._home = home

    async def which(self, params: Params) -> dict[str, Any]:
        """Answer `{bins: {name: path}}` with those that are installed."""
        names = [each for each in texts(params, "bins") if "/" not in each and "\0" not in each]
        found = {each: shutil.which(each, path=search_path()) for each in names}
        return {"bins": {name: path for name, path in found.items() if path is not None}}

    async def prepare(self, params: Params) -> dict[str, Any]:
        """Answer with the plan that an approval is bound to, and with the verdict of this node's rules."""
        bound, policy = await self._bound(params), self._policy(params)
        judgement = policy.judge(bound, plain=not params.get("env"))
        if judgement.verdict is RunVerdict.DENY:
            raise NodeError("SYSTEM_RUN_DENIED", judgement.why)
        asks = judgement.verdict is RunVerdict.ASK
        who = {"agentId": params.get("agentId"), "sessionKey": params.get("sessionKey")}
        rules = [{key: exactly(bound)[key] for key in ("pattern", "argPattern")}]
        return {
            "plan": {**bound.plan(), **who, "policySnapshot": {"security": policy.security, "ask": policy.ask}},
            "execPolicy": {"security": policy.security, "ask": policy.ask},
            "allowAlwaysCoverage": {
                "complete": judgement.may_persist,
                "patterns": rules if judgement.may_persist else [],
            },
            "needsApproval": asks,
            "reason": judgement.why if asks else "",
        }

    async def run(self, params: Params) -> dict[str, Any]:
        """Run a command that the rules let run, or that was approved as it was prepared.

        Raises:
            NodeError: `SYSTEM_RUN_DENIED` when it may not.
        """
        environment = _environment(params)
        timeout_s = number(params, "timeoutMs", 30_000, 100, RUN_LIMIT_MS) / 1000
        bound, policy = await self._bound(params), self._policy(params)
        judgement = policy.judge(bound, plain=not params.get("env"))
        if judgement.verdict is RunVerdict.DENY:
            raise NodeError("SYSTEM_RUN_DENIED", judgement.why)
        if judgement.verdict is RunVerdict.ASK:
            if not flag(params, "approved"):
                raise NodeError("SYSTEM_RUN_DENIED", f"approval required: {judgement.why}")
            _refuse_other_plan(bound, params.get("systemRunPlan"))
            if judgement.may_persist and params.get("approvalDecision") == "allow-always":
                self._allow(params, bound)
        done = await programs.run(
            bound.argv,
            timeout_s=timeout_s,
            cwd=bound.cwd,
            env=environment,
            executable=bound.path,
            limit=OUTPUT_LIMIT_BYTES,
        )
        out, err = (_shown(each) for each in (done.stdout, done.stderr))
        timed_out = done.exit_code is None
        return {
            "exitCode": done.exit_code,
            "timedOut": timed_out,
            "success": done.exit_code == 0,
            "stdout": out,
            "stderr": err,
            "error": f"it was ended after {timeout_s:g} s" if timed_out else None,
        }

    async def approvals(self, params: Params) -> dict[str, Any]:
        """Answer with the file of rules; it is changed on this machine alone."""
        try:
            file = self._home.read(self._home.approvals_file)
        except NodeProblem as error:
            raise NodeError("UNAVAILABLE", str(error)) from error
        digest = sha256(json.dumps(file, sort_keys=True).encode()).hexdigest()
        shown = file or {"version": 1, "defaults": {}, "agents": {}}
        return {"path": str(self._home.approvals_file), "exists": bool(file), "hash": digest, "file": shown}

    async def _bound(self, params: Params) -> BoundProgram:
        command = read_request(params)
        return await asyncio.to_thread(bind, command, text(params, "cwd", "", limit=4_096) or None)

    def _policy(self, params: Params) -> ExecPolicy:
        try:
            return policy_for(self._home, text(params, "agentId", "", limit=200) or None)
        except NodeProblem as error:
            raise NodeError("SYSTEM_RUN_DENIED", str(error)) from error

    def _allow(self, params: Params, bound: BoundProgram) -> None:
        try:
            allow_always(self._home, text(params, "agentId", "", limit=200) or None, bound)
        except NodeProblem as error:
            raise NodeError("UNAVAILABLE", str(error)) from error


def _shown(output: bytes) -> str:
    cut = f"\n[cut after {OUTPUT_LIMIT_BYTES} bytes]" if len(output) >= OUTPUT_LIMIT_BYTES else ""
    return output.decode(errors="replace") + cut


def _refuse_other_plan(bound: BoundProgram, plan: object) -> None:
    """Refuse a command that is not, word by word and byte by byte, the approved one.

    Raises:
        NodeError: It is not, or no plan says what was approved.
    """
    if not isinstance(plan, dict):
        raise NodeError(
            "SYSTEM_RUN_DENIED", "an approved command comes with its systemRunPlan, from system.run.prepare"
        )
    now = bound.plan()
    required, kept = ("argv", "cwd", "mutableFileOperand"), ("programSha256", "files")
    for name in (*required, *(each for each in kept if each in plan)):
        if plan.get(name) != now[name]:
            raise NodeError(
                "SYSTEM_RUN_DENIED",
                f"it differs from the approved command: {name} of systemRunPlan differs; prepare it again",
            )


def _environment(params: Params) -> dict[str, str]:
    wanted = params.get("env") or {}
    if not isinstance(wanted, Mapping):
        raise NodeError("INVALID_PARAMS", "env: expected an object with texts as values")
    try:
        checked = check_environment(wanted)
    except CommandRefused as error:
        raise NodeError("INVALID_PARAMS", str(error)) from None
    own = {name: os.environ[name] for name in _TAKEN if name in os.environ}
    return {"LANG": "C.UTF-8", **own, "PATH": search_path(), "TERM": "dumb", **checked}
