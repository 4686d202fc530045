"""Chooses the model that answers when the intended one rests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hub.core.errors import HubError
from hub.models.candidates import is_named
from hub.models.registry import ModelRegistry


async def answering_model(
    models: ModelRegistry, ref: str | None, credentials: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Any]:
    """Return the `ref` of the model that is asked first, and the `reason`.

    `ref` is the intended one, or None, where no model can be asked. `notice` says what prevents the
    intended one, as `RunResult.notices` does.

    Args:
        models: The registry.
        ref: The intended model; None is the default.
        credentials: The credentials of each provider that may be used, see `ModelRegistry.candidates`.
    """
    try:
        first, *others = await models.candidates(ref, credentials=credentials)
    except HubError as error:
        return {"ref": models.describe(ref)["ref"], "reason": error.message}
    found = {"ref": first.ref, "reason": first.reason}
    if (meant := first.instead_of) is not None:
        why = meant["reason"] if meant["kind"] == "unusable" else f"{meant['model']} does not answer"
        return {**found, "reason": why, "notice": {**meant, "instead": first.name}}
    after = next((each for each in others if each.name != first.name), None)
    if first.rests is None or after is None or not is_named(ref):
        return found
    return {**found, "notice": {**first.rests, "kind": "asked_first", "instead": after.name}}
