"""The tool that asks the person of a conversation for a key, which the model never sees: ask_secret."""

from __future__ import annotations

from collections.abc import Callable

from hub.core.errors import InvalidRequest
from hub.core.schema import All, Length, Optional, Required, Schema, boolean, string
from hub.sessions.store import SessionStore
from hub.tools.agent_secrets import NAME, AgentSecrets, holder_of, secret_ask
from hub.tools.approval import ApprovalState, AskOwner
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

GROUP = "session"
WHY_CHARS = 300
TIMEOUT_S = 900.0
KEEPS = Annotations(destructive=False, idempotent=True, open_world=False, owner_only=False, egress=False)

_ASK = Schema(
    {
        Required("name", description="In capitals, ending in _KEY, _TOKEN, _SECRET or _PASSWORD: GITHUB_TOKEN."): NAME,
        Required("why", description="What it is for and where the person finds it, for that person."): All(
            string, Length(min=1, max=WHY_CHARS)
        ),
        Optional("renew", default=False, description="Ask although there is one, because it no longer works."): boolean,
    }
)


class SecretTool:
    """Asks for a secret.

    Args:
        ask: Puts a question to people and waits for the answer.
        secrets: Stores it.
        sessions: Know which conversations are kept.
        dashboard: Returns the address where it can be given.
    """

    def __init__(
        self, ask: AskOwner, secrets: AgentSecrets, sessions: SessionStore, dashboard: Callable[[], str]
    ) -> None:
        self._ask = ask
        self._secrets = secrets
        self._sessions = sessions
        self._dashboard = dashboard

    def all(self) -> list[Tool]:
        """Return the tool."""
        return [
            Tool(
                "ask_secret",
                "Ask the person you talk with for a key, token or password, by a masked field. You never see its "
                "value: write $NAME in a command, and the command has it in its environment. Never ask for one in "
                "words, and never have it printed.",
                from_schema(_ASK),
                self._run,
                GROUP,
                KEEPS,
                timeout_s=TIMEOUT_S + 60.0,
            )
        ]

    async def _run(self, call: ToolCall) -> ToolResult:
        name = call.arguments["name"]
        holder = holder_of(call.agent_id, call.context.authority)
        if self._sessions.get(call.session_key) is None:
            raise InvalidRequest("a secret can only be requested in a stored conversation")
        use = f"write ${name} where its value is to be"
        if self._secrets.has(holder, name) and not call.arguments["renew"]:
            return ToolResult(f"There is a secret {name} already: {use}.")
        decision = await self._ask(secret_ask(call, name, call.arguments["why"], self._dashboard(), TIMEOUT_S))
        if decision.state is ApprovalState.ANSWERED:
            return ToolResult(f"{name} was given: {use}.")
        why = "nobody gave it in time" if decision.state is ApprovalState.EXPIRED else "the person declined"
        return ToolResult(f"{name} was not given: {why}. Do not ask for it in words.", is_error=True)
