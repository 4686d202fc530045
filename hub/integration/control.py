"""Control of integrations while the hub runs: list, reload, enable and disable."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.config.store import ConfigStore, ReloadResult
from hub.config.suggest import did_you_mean
from hub.core.errors import InvalidRequest, NotFound
from hub.core.schema import as_list
from hub.integration.catalog import CatalogEntry, custom_names, declared_kinds, find
from hub.integration.manager import IntegrationManager
from hub.integration.schemas import IntegrationSchemas
from hub.integration.status import IntegrationState

AVAILABLE = "available"
"""The state of an integration that nothing uses."""


class IntegrationControl:
    """Lists and changes integrations.

    Args:
        config: The configuration; `hub.disabled` is written into its files.
        schemas: The schemas of integrations.
        manager: The integrations in use.
        apply: Applies a changed configuration.
        renew: Makes again the automations that use these kinds, or a blueprint.
    """

    def __init__(
        self,
        config: ConfigStore,
        schemas: IntegrationSchemas,
        manager: IntegrationManager,
        *,
        apply: Callable[[ReloadResult], Awaitable[None]],
        renew: Callable[[frozenset[str]], Awaitable[None]],
    ) -> None:
        self._config = config
        self._schemas = schemas
        self._manager = manager
        self._apply = apply
        self._renew = renew
        self._changing = asyncio.Lock()

    def list(self) -> list[dict[str, Any]]:
        """Return every integration there is, with its state and the reason for it.

        One that works without a part of its section, or not by the present files, has that as its reason; a
        section that no integration has is listed as one that failed.
        """
        used = {each["domain"]: each for each in self._manager.statuses()}
        listed = {domain: used.get(domain) or _unused(found) for domain, found in self._manager.catalog.items()}
        for error in self._config.errors:
            name = error.section
            if name and name not in listed and not self._config.sections.is_core(name):
                listed[name] = {**_UNKNOWN, "domain": name, "name": name, "reason": str(error)}
            elif name is not None and name in used and not used[name]["reason"]:
                listed[name] = used[name] = {**used[name], "reason": str(error)}
        return [listed[domain] for domain in sorted(listed)]

    def get(self, domain: str) -> dict[str, Any]:
        """Return one integration; see `list`.

        Raises:
            NotFound: There is none of that domain.
        """
        catalog = self._manager.catalog
        if domain not in catalog:
            hint = did_you_mean(domain, catalog)
            raise NotFound(f"there is no integration {domain}" + (f"; {hint}" if hint else ""))
        status = self._manager.status(domain)
        return status.as_dict() if status is not None else _unused(catalog[domain])

    async def find_new(self) -> None:
        """Find integrations that were added to the home, so that they can be configured without a restart."""
        async with self._changing:
            if await asyncio.to_thread(custom_names, self._config.home) - self._manager.catalog.keys():
                await self._find()

    async def _find(self) -> Mapping[str, CatalogEntry]:
        catalog = await asyncio.to_thread(find, self._config.home)
        self._manager.use(catalog)
        self._schemas.refresh(catalog)
        return catalog

    async def reload(self, domain: str, *, install: bool = False) -> dict[str, Any]:
        """Read an integration's files again and set it up again; return its status.

        A new one, one that has failed and one whose code, schema or manifest changed are all loaded.

        Args:
            domain: The integration.
            install: Whether the packages it needs may be installed, whatever `hub: install` says.

        Raises:
            NotFound: There is none of that domain.
            InvalidRequest: It is not in use, or the configuration does not fit its schema.
        """
        async with self._changing:
            before = self._manager.catalog.get(domain)
            catalog = await self._find()
            self.get(domain)
            custom = [each for each in (before, catalog.get(domain)) if each is not None and each.custom]
            kinds = frozenset[str]().union(*map(declared_kinds, custom))
            result = await self._config.reload(again=True)
            if not result.applied:
                raise InvalidRequest(f"{domain} was not reloaded: {result.errors[0]}")
            await self._apply(result)
            if result.restarting:
                return self.get(domain)
            await self._manager.apply((), self._config.current)
            if self._manager.status(domain) is None:
                raise InvalidRequest(f"{domain} is not in use: {_unused(catalog[domain])['reason']}")
            await self._manager.reload(domain, self._config.current, install=install)
            await self._renew(kinds)
            return self.get(domain)

    async def take_in(self, domain: str) -> dict[str, Any]:
        """Find an integration that was put into the home, set it up where it is in use, and return its status."""
        async with self._changing:
            manifest = (await self._find())[domain].manifest
        by_itself = manifest is not None and manifest.default is True
        if self._manager.status(domain) is None and domain not in self._config.current.raw and not by_itself:
            return self.get(domain)
        return await self.reload(domain)

    async def forget(self, domain: str) -> None:
        """Forget an integration that is not in use and whose files were removed, in `hub: disabled` too."""
        async with self._changing:
            self._manager.forget(domain)
            await self._find()
            await self._write_disabled(domain, disabled=False)

    def is_in_use(self, domain: str) -> bool:
        """Whether an integration is set up, or the hub goes on trying."""
        status = self._manager.status(domain)
        return status is not None and status.state not in (IntegrationState.DISABLED, IntegrationState.UNLOADED)

    async def enable(self, domain: str) -> dict[str, Any]:
        """Take an integration out of `hub: disabled`; return its status."""
        return await self._set_disabled(domain, disabled=False)

    async def disable(self, domain: str) -> dict[str, Any]:
        """Unload an integration and name it in `hub: disabled`; return its status."""
        return await self._set_disabled(domain, disabled=True)

    async def _set_disabled(self, domain: str, *, disabled: bool) -> dict[str, Any]:
        async with self._changing:
            self.get(domain)
            await self._write_disabled(domain, disabled=disabled)
            return self.get(domain)

    async def _write_disabled(self, domain: str, *, disabled: bool) -> None:
        hub = self._config.current.get("hub")
        names = as_list(hub.get("disabled", ())) if isinstance(hub, Mapping) else []
        if disabled == (domain in names):
            return
        kept = [*names, domain] if disabled else [each for each in names if each != domain]
        editor = self._config.editor
        if kept:
            # What uses its kinds or blueprints becomes unavailable, and says so; that must not prevent it.
            await asyncio.to_thread(editor.set_value, ("hub", "disabled"), kept, must_be_valid=False)
        else:
            await asyncio.to_thread(editor.remove_value, ("hub", "disabled"))
        await self._apply(await self._config.reload())


_UNKNOWN = {
    "kind": None,
    "version": None,
    "documentation": "",
    "custom": False,
    "overrides": False,
    "state": "failed",
    "since": 0.0,
    "attempts": 0,
}
"""Status of a section without an integration."""


def _unused(found: CatalogEntry) -> dict[str, Any]:
    from hub.integration.status import Status

    reason = found.error or f"add {found.domain}: to the configuration to use it"
    return {**Status(found).as_dict(), "state": AVAILABLE, "reason": reason}
