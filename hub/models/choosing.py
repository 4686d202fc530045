"""What somebody may choose: a model that its provider has, where it lists its models."""

from __future__ import annotations

from hub.core.errors import NotFound
from hub.models.registry import ModelRegistry
from hub.models.resolved import Resolved
from hub.models.selection import has_model, not_listed


async def chosen(models: ModelRegistry, ref: str) -> Resolved:
    """Return the model that a reference means, see `ModelRegistry.resolve`.

    Raises:
        NotFound: Nothing has that name, or its provider lists others (`details.listed`); it offers the nearest.
        HubError: As `resolve` says.
    """
    resolved = await models.resolve(ref)
    name, model_id = resolved.info.provider, resolved.info.id
    listed = await models.listed(name)
    if listed and not has_model(listed, model_id):
        known = [info.id for info in await models.list() if info.provider == name]
        if not has_model(known, model_id):
            raise NotFound(not_listed(name, model_id, {*known, *listed}), details={"listed": True})
    return resolved
