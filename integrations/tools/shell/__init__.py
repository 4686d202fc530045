"""Commands: tools to run them, on the hub's machine or in a sandbox, and to manage those in the background.

What may run where without approval is decided here; who must use a sandbox, in `hub/sandbox`.
Reading the schema or the trigger imports this package: what only its tools need is imported by `setup`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.core.events import Event
    from hub.host import IntegrationHost
    from hub.tools.contract import ToolCall
    from hub.tools.exec_rules import ExecRules
    from integrations.tools.shell.running import RunningCommand

TOLD_CHARS = 1_000


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tools."""
    from msgspec.structs import replace

    from hub.core.executors import FILES
    from hub.core.tasks import TaskOwner
    from hub.sessions.store import EVENT_SESSION_CHANGED
    from hub.tools.exec_rules import ExecRules
    from integrations.tools.shell.allowed import AllowedCommands
    from integrations.tools.shell.elevated import Elevated
    from integrations.tools.shell.exec_tool import ExecNeeds, ExecTool, place_of
    from integrations.tools.shell.local_process import kill_leftovers
    from integrations.tools.shell.log import CommandLog
    from integrations.tools.shell.methods import exec_methods
    from integrations.tools.shell.on_node import NodeCommands
    from integrations.tools.shell.process_tool import ProcessTool
    from integrations.tools.shell.running import RunningCommands
    from integrations.tools.shell.tool import shell_tools

    await FILES.run(kill_leftovers, host.workspaces.sandboxes.mark)
    allowed = AllowedCommands(host.storage("allowed"), host.clock.time)
    await allowed.open()
    log = CommandLog(host.database, host.clock.time, host.redactor.redact)
    running = RunningCommands(TaskOwner(host.domain), host.clock)
    host.on_unload(running.close)

    elevated = Elevated(lambda: host.config.or_default("tools"), lambda: host.language)

    def rules(call: ToolCall) -> ExecRules:
        found = ExecRules.from_config(host.config.or_default("exec"), host.agents.get(call.agent_id).exec)
        return replace(found, mode="full") if found.mode == "ask" and elevated.of(call) == "full" else found

    async def ended(call: ToolCall, command: RunningCommand) -> None:
        context = call.context if command.trusted else call.context.tainted()
        told = f"The command {command.id} has ended ({command.state}); process log reads it: {command.command}"
        await host.system_events.add(call.agent_id, call.session_key, told[:TOLD_CHARS], context, wake=True)

    needs = ExecNeeds(
        agents=host.agents,
        workspaces=host.workspaces,
        clock=host.clock,
        place=place_of(host.sandboxes.of, host.sandboxes.open, elevated.of, mandatory=host.sandboxes.mandatory),
        rules=rules,
        ask=host.ask,
        writes_inside=lambda call: (
            host.tools.registry.confine(call.agent_id, call.session_key, call.context.authority).outside
        ),
        refused=lambda call: (
            "exec.mode: deny" if rules(call).mode == "deny" else host.tools.registry.refusal_reason(call)
        ),
        secrets=host.agent_secrets.for_call,
        allowed=allowed,
        log=log,
        running=running,
        models=host.models.registry,
        nodes=NodeCommands(host.nodes.registry, log),
        ended=ended,
    )
    executing = ExecTool(needs)
    host.tools.add(*shell_tools(executing, ProcessTool(running, executing.permit_input)))
    host.commands.add(elevated.command())
    for method in exec_methods(host.domain, allowed, log):
        host.methods.add(method)

    async def forget(event: Event) -> None:
        elevated.forget(event.data["key"])
        await running.forget(event.data["key"])

    host.bus.listen(EVENT_SESSION_CHANGED, forget, {"what": "deleted"})
