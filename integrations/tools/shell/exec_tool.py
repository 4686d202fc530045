"""The tool `exec`: decides where a command runs and whether it may, starts it, and waits or leaves it running."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agents
from hub.agent.workspace.workspace import Workspaces
from hub.core.clock import Clock
from hub.core.errors import Forbidden, HubError
from hub.core.executors import FILES
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.models.registry import ModelRegistry
from hub.sandbox.contract import Sandbox, SandboxCommand
from hub.tools.approval import ApprovalDecision, Ask, AskOwner
from hub.tools.approval_questions import CALL_TIMEOUT_S, why_not
from hub.tools.command_line import WrittenCommand, read_command
from hub.tools.contract import ToolCall, ToolResult
from hub.tools.exec_rules import ExecRules
from integrations.tools.shell.allowed import AllowedCommands
from integrations.tools.shell.binding import BoundCommand, bind
from integrations.tools.shell.environment import allowed_variables, check_environment, hub_environment
from integrations.tools.shell.local_process import start_local
from integrations.tools.shell.log import CommandLog
from integrations.tools.shell.on_node import NodeCommands
from integrations.tools.shell.reader import objection
from integrations.tools.shell.running import RunningCommand, RunningCommands
from integrations.tools.shell.verdict import CommandJudgement, CommandVerdict, judge, question_of

TIMEOUT_S = 120
TIMEOUT_LIMIT_S = 1_800
BACKGROUND_LIMIT_S = 86_400
UPDATE_S = 0.3

PlaceOf = Callable[[ToolCall, str], Awaitable[Sandbox | None]]
"""Returns where a call runs, given the `host` it asks for; None is the hub's machine."""
EndedInBackground = Callable[[ToolCall, RunningCommand], Awaitable[None]]


class ExecNeeds(Struct, frozen=True):
    """The dependencies of the tool.

    Attributes:
        rules: Returns the rules for a call's commands, by the configuration and `/elevated`.
        ask: Asks the owner.
        writes_inside: Whether programs in a sandbox write in the workspace of a call.
        refused: Returns why a call may not continue, by the present configuration.
        secrets: Returns the secrets that a call names in some of its arguments.
        ended: Notifies the conversation when a command in the background has ended.
    """

    agents: Agents
    workspaces: Workspaces
    clock: Clock
    place: PlaceOf
    rules: Callable[[ToolCall], ExecRules]
    ask: AskOwner
    writes_inside: Callable[[ToolCall], bool]
    refused: Callable[[ToolCall], str | None]
    secrets: Callable[[ToolCall, frozenset[str]], Mapping[str, Secret]]
    allowed: AllowedCommands
    log: CommandLog
    running: RunningCommands
    models: ModelRegistry
    nodes: NodeCommands
    ended: EndedInBackground


class ExecTool:
    """Runs commands."""

    def __init__(self, needs: ExecNeeds) -> None:
        self._needs = needs

    async def run(self, call: ToolCall) -> ToolResult:
        """Run a command; see the tool's parameters.

        Raises:
            Forbidden: It may not run.
            InvalidRequest: It cannot be run as it is written.
            Unavailable: It needs a sandbox and there is none, or it cannot be started.

        Cancelling it ends the command, unless it was left in the background.
        """
        needs, arguments = self._needs, call.arguments
        command = read_command(arguments["command"])
        environment, place = check_environment(arguments["env"]), "sandbox"
        needs.running.refuse_more(call.session_key)
        try:
            rules = needs.rules(call)
            if rules.mode == "deny":
                raise Forbidden("commands are switched off in the configuration (exec.mode: deny)")
            sandbox = await needs.place(call, arguments["host"])
            if arguments["host"] == "node":
                place = "node"
                refuse_on_hub(call)
                return await needs.nodes.run(call, command, rules, environment, self.ask)
            if sandbox is not None:
                if sandbox.reaches_out:
                    shown = {name: arguments[name] for name in ("command", "workdir", "env") if arguments[name]}
                    await self._permit_network(call, arguments["command"], shown)
                log_id = await needs.log.begin(call, place, CommandVerdict.SANDBOX)
                running = await self._in_sandbox(call, command, sandbox, environment)
            else:
                place = "hub"
                running, log_id = await self._on_hub(call, command, rules, environment)
        except Forbidden as error:
            await needs.log.begin(call, place, CommandVerdict.REFUSED, error.message)
            raise
        return await self._follow(call, running, log_id)

    async def _permit_network(self, call: ToolCall, title: str, details: Mapping[str, Any]) -> None:
        """Let a sandboxed command use the network if the owner alone asks for it, or approves.

        Raises:
            Forbidden: The owner said no.
        """
        authority = call.context.authority
        if authority.tainted or not authority.owner:
            text = phrase(
                "The assistant wants to run this in a sandbox with a network; it could carry things out of this home."
            )
            await self.ask(call, title, text, {"host": "sandbox", "agent": call.agent_id, **details})

    async def _in_sandbox(
        self, call: ToolCall, command: WrittenCommand, sandbox: Sandbox, environment: dict[str, str]
    ) -> RunningCommand:
        # Skills' variables hold keys: what follows words from outside, or another than the owner, gets none. A secret
        # that the command names is its person's own, and was asked about where it had to be.
        authority = call.context.authority
        trusts = authority.owner and not authority.tainted
        given = call.environment if trusts else self._needs.secrets(call, frozenset({"command"}))
        process = await sandbox.start(
            SandboxCommand(
                command.words or ("sh", "-c", command.text),
                posixpath.normpath(posixpath.join(sandbox.workdir, call.arguments["workdir"])),
                {**allowed_variables(given), **environment},
                call.arguments["pty"],
            )
        )
        return self._running(call, "sandbox", process, trusted=False, reaches_out=sandbox.reaches_out)

    async def _on_hub(
        self, call: ToolCall, command: WrittenCommand, rules: ExecRules, environment: dict[str, str]
    ) -> tuple[RunningCommand, str]:
        refuse_on_hub(call)
        needs, terminal = self._needs, call.arguments["pty"]
        bound = await self._bind(call, command, seals=rules.mode != "full" or rules.reader is not None)
        try:
            judgement = await self._judge(call, bound, rules, environment)
            if judgement.verdict is not None:
                verdict, by = judgement.verdict, ""
            else:
                verdict, by = await self._be_approved(call, bound, judgement, environment)
                bound = await self._bind_again(call, bound)
            trusted = rules.trust_output or (judgement.lists and not await FILES.run(self._shows_names, call, bound))
            log_id = await needs.log.begin(call, "hub", verdict, by)
            variables = hub_environment(environment, allowed_variables(call.environment), terminal=terminal)
            process = await start_local(
                bound.argv,
                executable=bound.executable,
                workdir=bound.workdir_fd,
                keep=bound.inherited_fds,
                environment=variables,
                terminal=terminal,
                home=needs.workspaces.sandboxes.mark,
            )
        finally:
            bound.close()
        return self._running(call, "hub", process, trusted=trusted), log_id

    def _shows_names(self, call: ToolCall, bound: BoundCommand) -> bool:
        """Whether a listing has names that words from outside created."""
        program, *words = bound.command.words
        if program not in ("ls", "du") or self._needs.writes_inside(call):
            return program in ("ls", "du")
        workspace = posixpath.realpath(self._needs.agents.get(call.agent_id).workspace)
        return any(
            os.path.lexists(posixpath.join(workspace, name))
            for word in ([each for each in words if not each.startswith("-")] or ["."])
            for folder in [posixpath.relpath(posixpath.join(bound.workdir, word), workspace)]
            for name in self._needs.workspaces.outside.names_in(call.agent_id, folder, below=program == "du")
        )

    async def _bind(self, call: ToolCall, command: WrittenCommand, *, seals: bool) -> BoundCommand:
        workspace = self._needs.agents.get(call.agent_id).workspace
        await FILES.run(self._needs.workspaces.ensure, call.agent_id)
        workdir = posixpath.join(str(workspace), call.arguments["workdir"])
        return await FILES.run(bind, command, workdir, seals=seals)

    async def _bind_again(self, call: ToolCall, bound: BoundCommand) -> BoundCommand:
        """Return the command with a fresh binding; the caller closes both.

        Raises:
            Forbidden: It is not the approved one.
        """
        shown = bound.details()
        if self._needs.rules(call).mode not in ("ask", "full"):
            raise Forbidden("the command was approved, but the configuration forbids it now; it was not run")
        try:
            now = await self._bind(call, bound.command, seals=True)
        except HubError as error:
            raise Forbidden(f"the command was approved, but cannot be run any more: {error.message}") from error
        bound.close()
        if now.details() != shown:
            now.close()
            raise Forbidden("the command was approved, but a file, its program or its folder changed; it was not run")
        return now

    async def _judge(
        self, call: ToolCall, bound: BoundCommand, rules: ExecRules, environment: dict[str, str]
    ) -> CommandJudgement:
        needs = self._needs
        view = needs.workspaces.view(call.agent_id, call.session_key, call.context.authority)
        plain = not environment and not call.arguments["pty"]
        known, shared = needs.allowed.has(call.agent_id), needs.writes_inside(call)
        judgement = await FILES.run(judge, bound, rules, plain=plain, view=view, has_rule=known, shared=shared)
        if rules.reader and judgement.verdict not in (None, CommandVerdict.HARMLESS):
            agent = needs.agents.get(call.agent_id)
            why = await objection(needs.models, rules.reader, agent, call.arguments["command"], bound.workdir)
            judgement = judgement if why is None else CommandJudgement(None, why)
        if judgement.verdict is None and rules.mode == "allowlist":
            raise Forbidden(f"only commands of exec.allow run here (exec.mode: allowlist), and {judgement.why}")
        return judgement

    async def _be_approved(
        self, call: ToolCall, bound: BoundCommand, judgement: CommandJudgement, environment: dict[str, str]
    ) -> tuple[CommandVerdict, str]:
        arguments = call.arguments
        details: dict[str, Any] = {**bound.details(), "host": "hub", "agent": call.agent_id}
        if environment or call.environment:
            details["environment"] = {
                **environment,
                **dict.fromkeys(allowed_variables(call.environment), "of a skill, or a secret"),
            }
        for name in ("background", "pty"):
            if arguments[name]:
                details[name] = True
        title, text = arguments["command"], question_of(bound, judgement.why)
        decision = await self.ask(call, title, text, details, may_persist=judgement.may_persist)
        if decision.always:
            await self._needs.allowed.add(call.agent_id, bound, decision.decided_by or "")
            return CommandVerdict.ALWAYS, decision.decided_by or ""
        return CommandVerdict.ONCE, decision.decided_by or ""

    async def ask(
        self, call: ToolCall, title: str, text: str, details: Mapping[str, Any], *, may_persist: bool = False
    ) -> ApprovalDecision:
        """Ask the owner and wait for a yes, which holds if the configuration still has it.

        Raises:
            Forbidden: It was a no, or the configuration forbids it by now.
        """
        question = Ask(
            kind="exec",
            title=title,
            text=text,
            details=details,
            context=call.context,
            session_key=call.session_key,
            run_id=call.run_id,
            timeout_s=CALL_TIMEOUT_S,
            may_persist=may_persist,
        )
        call.update(waits=True)
        decision = await self._needs.ask(question)
        call.update()
        if not decision.approved:
            raise Forbidden(f"the command needs the owner's approval: {why_not(decision)}")
        if (denied := self._needs.refused(call)) is not None:
            raise Forbidden(
                f"the command was approved, but the configuration forbids it now ({denied}); it was not run"
            )
        return decision

    async def permit_input(self, call: ToolCall, command: RunningCommand, data: str) -> None:
        """Permit input to a command, which can itself be commands, whenever the program was started.

        Raises:
            Forbidden: It may not, or the owner said no.
        """
        title = f"process write: {data}"
        details: dict[str, Any] = {"input": data, "to": command.command, "id": command.id, "agent": call.agent_id}
        if call.arguments["eof"]:
            details["eof"] = True
        if command.where != "hub":
            if command.reaches_out:
                await self._permit_network(call, title, details)
            return
        mode = self._needs.rules(call).mode
        refuse_on_hub(call)
        if mode in ("deny", "allowlist"):
            raise Forbidden(f"nothing is written to commands on the hub's machine (exec.mode: {mode})")
        if mode == "ask":
            text = phrase("The assistant wants to write this to a command that runs on the hub's machine.")
            await self.ask(call, title, text, details)

    def _running(
        self, call: ToolCall, where: str, process: Any, *, trusted: bool, reaches_out: bool = False
    ) -> RunningCommand:
        return RunningCommand(
            call.session_key,
            call.agent_id,
            call.arguments["command"],
            where,
            trusted,
            process,
            call.arguments["pty"],
            self._needs.clock.time(),
            background=call.arguments["background"],
            reaches_out=reaches_out,
        )

    async def _follow(self, call: ToolCall, running: RunningCommand, log_id: str) -> ToolResult:
        needs, arguments = self._needs, call.arguments

        async def ended(command: RunningCommand) -> None:
            await needs.log.end(log_id, command.exit_code if command.exit_code is not None else -1)
            if command.background:
                await needs.ended(call, command)

        background, longest = running.background, BACKGROUND_LIMIT_S if running.background else TIMEOUT_LIMIT_S
        timeout_s = min(arguments.get("timeout_s", longest if background else TIMEOUT_S), longest)
        needs.running.watch(running, timeout_s, ended)
        details = {"id": running.id, "host": running.where}
        note = self._note(call, running.where)
        if background:
            told = f"started in the background as {running.id}; process poll, log, write and kill take this id"
            return ToolResult(f"{told}{note}", {**details, "state": "running"})
        try:
            if not arguments["pty"]:
                await running.process.stdin.close()  # nobody writes to it: whatever reads its input comes to the end
            await self._show_until_end(call, running)
        finally:
            if running.exit_code is None:
                await running.process.kill()
        output, code = running.output.text(), running.exit_code
        told = f"\n[{running.state}]" if code or running.timed_out else ""
        return ToolResult(
            (f"{output.rstrip()}{told}".strip() or "(no output)") + note,
            {**details, "exit_code": code, "state": running.state},
            is_error=bool(code) or running.timed_out,
            trusted=running.trusted,
        )

    def _note(self, call: ToolCall, where: str) -> str:
        """Return where a command runs, if that differs from the agent's prompt."""
        settings, authority = self._needs.agents.get(call.agent_id).sandbox, call.context.authority
        moved = where == "sandbox" and call.arguments["host"] == "auto"
        if not moved or settings.describe(call.session_key, authority):
            return ""
        return "\n[in a sandbox, because text that others wrote is in this conversation]"

    async def _show_until_end(self, call: ToolCall, running: RunningCommand) -> None:
        shown = -UPDATE_S
        while not running.ended.is_set():
            running.changed.clear()
            await running.changed.wait()
            if (now := self._needs.clock.monotonic()) - shown >= UPDATE_S:
                shown = now
                call.update(running.output.text())


def refuse_on_hub(call: ToolCall) -> None:
    """Refuse a call that does not come from an owner alone.

    Raises:
        Forbidden: It does not.
    """
    authority = call.context.authority
    if not authority.owner or authority.tainted:
        raise Forbidden("only an owner's command runs outside a sandbox, and none after text that others wrote")


def place_of(
    of: Callable[[ToolCall], Awaitable[Sandbox | None]],
    open: Callable[[ToolCall], Awaitable[Sandbox]],
    elevated: Callable[[ToolCall], str],
    *,
    mandatory: bool = False,
) -> PlaceOf:
    """Return the function that decides where a call runs.

    Args:
        of: Returns the sandbox that it must use, or None.
        open: Returns the sandbox that it would use.
        elevated: Returns whether an owner let it run on the hub's machine: off if not.
        mandatory: Whether nobody can let it.
    """

    async def place(call: ToolCall, host: str) -> Sandbox | None:
        needed = await of(call) if mandatory or elevated(call) == "off" else None
        if needed is not None and host in ("hub", "node"):
            raise Forbidden("host: this conversation's commands run in a sandbox; use sandbox or auto")
        return await open(call) if needed is None and host == "sandbox" else needed

    return place
