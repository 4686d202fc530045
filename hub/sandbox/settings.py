"""An agent's sandbox settings, and the conversations they apply to. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.context import Authority, ToolPolicy
from hub.core.errors import InvalidRequest
from hub.sandbox.network import EVERYWHERE, NAMED_PRIVATE
from hub.sessions.keys import SessionKey, SessionKind
from hub.tools.contract import FREE, Confinement


class SandboxSettings(Struct, frozen=True):
    """The keys of `agents[].sandbox`.

    Attributes:
        mode: off | non_main | all: whose programs run in a sandbox, beside those who must.
        scope: session | agent | shared: who shares one.
        workspace_access: none | ro | rw: how the agent's workspace appears inside; with none it has its own files.
        engines: Settings by engine, the preferred one first; only these are used.
        whole: Whether the conversation as a whole is confined, not only its programs: its files are the sandbox's, and
            it has the tools of a sandbox alone.
        also_allow: Further tools of a confined conversation.
        session_visibility: spawned | all: whether a confined conversation sees only its subagents among the others.
    """

    mode: str = "non_main"
    scope: str = "agent"
    workspace_access: str = "none"
    engines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    whole: bool = False
    also_allow: frozenset[str] = frozenset()
    session_visibility: str = "spawned"

    def must(self, authority: Authority) -> bool:
        """Whether programs under this authority must run in a sandbox, whatever the mode."""
        return authority.tainted or not authority.owner

    def by_mode(self, session_key: str, authority: Authority) -> bool:
        """Whether the mode puts a conversation in a sandbox."""
        if self.mode == "non_main":
            return not (authority.owner and _is_main(session_key))
        return self.mode == "all"

    def confines(self, session_key: str, authority: Authority) -> bool:
        """Whether a whole conversation is confined to its sandbox."""
        return self.whole and self.by_mode(session_key, authority)

    @property
    def own_files(self) -> bool:
        """Whether changed files are the sandbox's own, and not the agent's workspace."""
        return self.workspace_access != "rw"

    def confinement(self, session_key: str, authority: Authority) -> Confinement:
        """Return the confinement of a conversation."""
        if not self.whole or not self.by_mode(session_key, authority):
            return FREE if self.own_files else Confinement(outside=True)
        policy = ToolPolicy(TOOLS_INSIDE | self.also_allow, source="agents[].sandbox")
        return Confinement((policy,), _WRITING if self.own_files else frozenset(), outside=True)

    def for_browser(self, profile: str, *, private: bool) -> SandboxSettings:
        """Return the settings of a sandbox for a single browser.

        Args:
            private: Whether it reaches the private targets that the owner named, instead of public ones.
        """
        network = {"allow": [NAMED_PRIVATE if private else EVERYWHERE]}
        engines = {name: {**each, **_BROWSER, "network": network} for name, each in self.engines.items()}
        return replace(self, scope=f"{BROWSER}.{profile}", workspace_access="none", engines=engines)

    def describe(self, session_key: str, authority: Authority) -> str:
        """Return the description of the environment for an agent; empty if its programs run in the hub."""
        if self.mode == "off" or (authority.owner and not self.by_mode(session_key, authority)):
            return ""
        access = _ACCESS[self.workspace_access]
        if self.confines(session_key, authority):
            return f"This conversation is in a sandbox: {access} Programs see nothing else of the machine.{_BOUNDS}"
        return f"Programs that you start run in a sandbox: {access} Your file tools work outside of it.{_BOUNDS}"


BROWSER = "browser"
"""Begins the scope of a sandbox for a browser; the name of the browser's profile follows."""
_BROWSER: Mapping[str, Any] = {"memory": 2 * 1024**3, "pids": 1_024, "binds": []}
_BOUNDS = " What is outside of /workspace and /tmp cannot be written; memory, processes and the network are limited."
_ACCESS = {
    "none": "/workspace is a directory of its own, apart from your workspace.",
    "ro": "/workspace is a directory of its own, and /agent is your workspace, read-only.",
    "rw": "/workspace is your workspace, without memory and attachments; what the hub acts on is read-only.",
}
_WRITING = frozenset({"write", "edit", "apply_patch"})
TOOLS_INSIDE = frozenset(
    {
        *("exec", "process", "code_run", "read", "write", "edit", "apply_patch", "ls", "find", "grep", "image"),
        *("sessions_*", "subagents", "session_status", "read_result", "find_tools", "use_tool"),
    }
)
"""The tools of a confined conversation: none that reaches the machine, a device or the home, or acts later."""


def _is_main(session_key: str) -> bool:
    try:
        return SessionKey.parse(session_key).kind is SessionKind.MAIN
    except InvalidRequest:
        return False
