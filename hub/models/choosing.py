"""Checks that a chosen model exists."""

from __future__ import annotations

from hub.core.errors import NotFound
from hub.models.registry import ModelRegistry
from hub.models.resolved import Resolved
from hub.models.selection import has_model, unlisted_message


async def choose_model(models: ModelRegistry, ref: str) -> Resolved:
    """Return the model of a reference, see `ModelRegistry.resolve`.

    A provider is asked for its list only where neither configuration nor catalogue names the model.

    Raises:
        NotFound: Nothing has that name, or its provider lists others (`details.listed`); it offers the nearest.
        HubError: As `resolve` says.
    """
    resolved = await models.resolve(ref)
    name, model_id = resolved.info.provider, resolved.info.id
    known = models.known(name)
    if not has_model(known, model_id):
        listed = await models.listed(name)
        if listed and not has_model(listed, model_id):
            raise NotFound(unlisted_message(name, model_id, {*known, *listed}), details={"listed": True})
    return resolved
