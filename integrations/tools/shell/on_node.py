"""Commands on a node: prepared there, approved here, and run only if the prepared plan is still the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.core.errors import Forbidden, InvalidRequest, NotFound
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.plain_words import is_plain
from hub.nodes.records import NodeRecord
from hub.nodes.registry import NodeRegistry
from hub.tools.approval import ApprovalDecision
from hub.tools.command_line import WrittenCommand, look_alikes
from hub.tools.contract import ToolCall, ToolResult
from hub.tools.exec_rules import ExecRules
from integrations.tools.shell.log import CommandLog
from integrations.tools.shell.verdict import CommandVerdict

RUN, PREPARE = "system.run", "system.run.prepare"
TIMEOUT_S = 120
PREPARE_LIMIT_S = 20.0
OUTPUT_LIMIT = 450_000

AskAboutCommand = Callable[..., Awaitable[ApprovalDecision]]


class NodeCommands:
    """Runs commands on nodes.

    Args:
        nodes: All nodes.
        log: Records the commands.
    """

    def __init__(self, nodes: NodeRegistry, log: CommandLog) -> None:
        self._nodes = nodes
        self._log = log

    async def run(
        self,
        call: ToolCall,
        command: WrittenCommand,
        rules: ExecRules,
        environment: dict[str, str],
        ask: AskAboutCommand,
    ) -> ToolResult:
        """Run a command of an owner's conversation on a node.

        Args:
            ask: Asks the owner and waits for a yes.

        Raises:
            Forbidden: It may not run, the owner said no, or it is no longer the approved one.
            InvalidRequest: A node cannot run it so.
            HubError: The node refused, or is away.
        """
        arguments = call.arguments
        if arguments["background"] or arguments["pty"]:
            raise InvalidRequest("host: on a node nothing runs in the background and nothing has a terminal")
        if rules.mode == "allowlist":
            raise Forbidden("only commands of exec.allow run, on the hub's machine (exec.mode: allowlist)")
        record = self._node(arguments.get("node"))
        params: dict[str, Any] = {
            "command": list(command.words) or ["/bin/sh", "-c", command.text],
            "agentId": call.agent_id,
            "sessionKey": call.session_key,
        }
        if arguments["workdir"] != ".":
            params["cwd"] = arguments["workdir"]
        if environment:
            params["env"] = environment
        plan = await self._plan(record, params)
        verdict, by = CommandVerdict.FULL, ""
        if rules.mode != "full" or rules.reader is not None:
            details = {**_shown(plan), "host": "node", "node": f"{record.title} ({record.id})", "agent": call.agent_id}
            if environment:
                details["environment"] = environment
            if found := look_alikes(command.text):
                details["look-alikes"] = found
            text = phrase("The assistant wants to run this on the node {node}.", node=record.title)
            decision = await ask(call, arguments["command"], text, details)
            verdict, by = CommandVerdict.ONCE, decision.decided_by or ""
            if await self._plan(record, params) != plan:
                raise Forbidden("the command was approved, but its program, file or folder changed; it was not run")
        log_id = await self._log.begin(call, f"node {record.title}"[:100], verdict, by)
        return await self._do(call, record, params, plan, log_id)

    async def _do(
        self, call: ToolCall, record: NodeRecord, params: Mapping[str, Any], plan: Mapping[str, Any], log_id: str
    ) -> ToolResult:
        timeout_s = call.arguments.get("timeout_s", TIMEOUT_S)
        bound = {**params, "command": plan["argv"], "timeoutMs": int(timeout_s * 1000)}
        bound |= {"runId": new_id(), "approved": True, "approvalDecision": "allow-once", "suppressNotifyOnExit": True}
        if plan.get("cwd"):
            bound["cwd"] = plan["cwd"]
        if "commandText" in plan:
            bound |= {"systemRunPlan": dict(plan), "rawCommand": plan["commandText"]}
        shown = ""

        def progress(text: str) -> None:
            nonlocal shown
            shown = (shown + text)[-OUTPUT_LIMIT:]
            call.update(shown)

        code = -1
        try:
            answer = await self._nodes.invoke(record.id, RUN, bound, timeout_s=timeout_s + 5, on_progress=progress)
            given = answer.get("exitCode")
            code = given if isinstance(given, int) else int(not answer.get("success"))
        finally:
            await self._log.end(log_id, code)
        parts = [str(answer.get(key) or "") for key in ("stdout", "stderr")]
        state = "timed out" if answer.get("timedOut") else f"exit code {code}"
        parts.append(str(answer.get("error") or ""))
        output = "\n".join(each.rstrip() for each in parts if each)[:OUTPUT_LIMIT]
        told = f"\n[{state}]" if code or answer.get("timedOut") else ""
        return ToolResult(
            f"{output}{told}".strip() or "(no output)",
            {"host": "node", "node": record.id, "exit_code": code, "state": state},
            is_error=bool(code) or bool(answer.get("timedOut")),
            trusted=False,
        )

    async def _plan(self, record: NodeRecord, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the node's plan: program, arguments, folder, and the hash of its script."""
        if PREPARE not in self._nodes.commands(record.id):
            return {"argv": params["command"], "cwd": params.get("cwd")}
        answer = await self._nodes.invoke(record.id, PREPARE, params, timeout_s=PREPARE_LIMIT_S)
        plan = answer.get("plan")
        if not isinstance(plan, Mapping) or not isinstance(plan.get("argv"), list) or not plan["argv"]:
            raise InvalidRequest(f"the node {record.title} sent no plan")
        return plan

    def _node(self, given: str | None) -> NodeRecord:
        able = [each.node.id for each in self._nodes.all() if RUN in self._nodes.commands(each.node.id)]
        if given is None and len(able) == 1:
            return self._nodes.surfaces.require(able[0])
        record = self._nodes.records.find(given) if given is not None else None
        if record is None:
            names = [self._nodes.surfaces.require(id).title for id in able]
            told = f"node: name the node that runs it; those that may be asked for {RUN}: {', '.join(names) or 'none'}"
            raise NotFound(told, outside=not is_plain(names))
        return record


def _shown(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content that an approval is bound to, for people."""
    file = plan.get("mutableFileOperand")
    return {
        "argv": plan["argv"],
        "workdir": plan.get("cwd") or "the node's own",
        **({"files": {str(file.get("path")): str(file.get("sha256"))}} if isinstance(file, Mapping) else {}),
    }
