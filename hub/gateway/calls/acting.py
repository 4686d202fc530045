"""The authority of a caller for things that belong to the owner."""

from __future__ import annotations

from hub.core.context import Context
from hub.core.surfaces import MethodCall


def call_context(call: MethodCall) -> Context:
    """Return the context for what a call starts.

    An automation runs with its owner's rights. What a caller who is not the owner brings into it (the data of an event,
    a state, variables) is somebody else's words there: the run is tainted.
    """
    return call.context if call.context.authority.owner else call.context.tainted()
