"""Check that the programs are there, and their folders."""

from __future__ import annotations

from collections.abc import Iterator

from hub.agent.agents import Agents
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, error
from integrations.models.acp.agent_program import API, AcpError, AgentProgram


def _programs(context: CheckContext) -> Iterator[Finding]:
    section = context.config.get(API)
    agents = Agents(context.config.or_default("agents"), context.home)
    own = [context.home.path, *(agent.workspace for agent in agents.all())]
    for name, given in (section or {}).get("agents", {}).items():
        program = AgentProgram.from_config(name, given)
        try:
            program.executable()
            program.check_folder(own)
        except AcpError as problem:
            yield error(problem.message, program.key)


CHECKS = {"programs": Check("programs", "Agent programs", _programs)}
