"""Errors of node calls; the texts are those of OpenClaw's protocol."""

from __future__ import annotations

from hub.core.errors import InvalidRequest, TimedOut, Unavailable

CONNECTION = "NOT_CONNECTED"
NOT_READY = "NODE_NOT_READY"
BACKGROUND = "NODE_BACKGROUND_UNAVAILABLE"


class CommandNotAllowed(InvalidRequest):
    """The command is not allowed for this node."""

    def __init__(self, command: str, reason: str, advice: str) -> None:
        details = {"reason": reason, "command": command}
        super().__init__(f'node command not allowed: "{command[:128]}" {advice}', details=details)


class NodeRefused(Unavailable):
    """The node answered with an error, in its own words unless `outside` is False."""

    def __init__(self, code: str, message: str, *, outside: bool = True) -> None:
        details = {"nodeError": {"code": code, "message": message}, "nodeCommandDispatched": code != CONNECTION}
        super().__init__(f"{code}: {message}", details=details, outside=outside)
        self.node_code = code


class NodeTimedOut(TimedOut):
    """The node did not answer in time."""

    code = Unavailable.code

    def __init__(self) -> None:
        error = {"code": "TIMEOUT", "message": "node invoke timed out"}
        super().__init__("TIMEOUT: node invoke timed out", details={"nodeError": error, "nodeCommandDispatched": True})
