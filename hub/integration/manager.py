"""Sets integrations up, tries again those that are not ready, reloads what changed and unloads all at stop.

The failure of one never stops another: it is a state with a reason, and a repair.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hub.config.checked import Config, empty_config
from hub.core.clock import Clock
from hub.core.errors import HubError, NotFound
from hub.core.events import EventBus
from hub.core.phrases import phrase
from hub.core.repairs import RepairFix, Repairs, Severity
from hub.core.schema import SchemaError
from hub.core.tasks import TaskOwner
from hub.integration.catalog import CatalogEntry
from hub.integration.errors import MissingRequirement, NotReady
from hub.integration.importing import failure_text, forget, import_integration
from hub.integration.in_use import disabled_domains, in_use, install_mode, platform_items
from hub.integration.installing import Installer, InstallFailed
from hub.integration.order import before, dependents, in_order
from hub.integration.registrations import Registrations
from hub.integration.requirements import check_requirements, missing_requirement
from hub.integration.schemas import IntegrationSchemas
from hub.integration.status import IntegrationState, Status
from hub.integration.time_limit import TimeLimit

_log = logging.getLogger(__name__)

EVENT_INTEGRATION_CHANGED = "integration_changed"
SOURCE = "integration"
DISABLED = "hub.disabled"
SETUP_LIMIT_S = 60.0
UNLOAD_LIMIT_S = 8.0
RETRY_FIRST_S = 5.0
RETRY_LIMIT_S = 300.0
INSTALL_RETRY_S = 300.0

MakeHost = Callable[[str, Registrations], Any]
"""Makes what an integration is given, from its domain and the record of its registrations."""


class IntegrationManager:
    """The integrations in use: sets them up, retries, reloads and unloads them.

    Args:
        make_host: Makes the host for an integration's `setup(host, config)` and `unload(host)`.
        catalog: The integrations that were found.
        repairs: Receives every failure.
        bus: Receives every change: `integration_changed` with domain, state and reason.
        clock: For time limits and pauses.
        tasks: Owner of set-ups and retries.
        installer: Installs what integrations need; nothing is installed without it.
        schemas: Sections, which give one that is not configured its defaults; made from the catalog by default.
    """

    def __init__(
        self,
        make_host: MakeHost,
        catalog: Mapping[str, CatalogEntry],
        repairs: Repairs,
        bus: EventBus,
        clock: Clock,
        *,
        tasks: TaskOwner,
        installer: Installer | None = None,
        schemas: IntegrationSchemas | None = None,
    ) -> None:
        self._make_host = make_host
        self._catalog = dict(catalog)
        self._repairs = repairs
        self._bus = bus
        self._clock = clock
        self._tasks = tasks
        self._installer = installer
        self._schemas = schemas or IntegrationSchemas(self._catalog)
        self._limit = TimeLimit(clock, tasks)
        self._config: Config = empty_config()
        self._needed: set[str] = set()
        self._statuses: dict[str, Status] = {}
        self._may_install: set[str] = set()
        self._changing = asyncio.Lock()
        self._stopped = False

    async def start(self, config: Config, needed: Iterable[str] = ()) -> None:
        """Set up every integration that is configured, needed by another section, or a default.

        Args:
            config: The checked configuration.
            needed: Domains that other sections need.

        Returns when each was set up, or failed, or is being retried. Cancelling it cancels the set-ups.
        """
        async with self._changing:
            self._config, self._needed = config, set(needed)
            wanted = self._wanted()
            self._note_disabled()
            await self._set_up_all(wanted)

    async def stop(self) -> None:
        """Unload all, those that depend on others first; each within its time limit."""
        async with self._changing:
            self._stopped = True
            ordered, circle = in_order(self._statuses, self._catalog)
            for domain in [*circle, *reversed(ordered)]:
                await self._unload(self._statuses[domain], "the hub stops")

    @property
    def catalog(self) -> Mapping[str, CatalogEntry]:
        """Every integration that was found."""
        return self._catalog

    def forget(self, domain: str) -> None:
        """Forget an integration that is not set up, so that it may leave the catalog."""
        self._statuses.pop(domain, None)
        self._repairs.clear(SOURCE, domain)

    def use(self, catalog: Mapping[str, CatalogEntry]) -> None:
        """Replace the catalog; an integration in use follows at its next reload."""
        gone = {domain: self._catalog[domain] for domain in self._statuses if domain not in catalog}
        self._catalog = {**gone, **catalog}

    async def reload(self, domain: str, config: Config | None = None, *, install: bool = False) -> None:
        """Unload an integration and set it up again, and with it those that depend on it.

        A custom one is imported again, so that its changed code runs.

        Args:
            domain: The integration.
            config: The configuration to use from now on; as before without it.
            install: Whether what it needs may be installed, whatever `hub: install` says.

        Raises:
            NotFound: It is not in use.
        """
        async with self._changing:
            if domain not in self._statuses:
                raise NotFound(f"the integration {domain} is not in use")
            self._config = config if config is not None else self._config
            if install:
                self._may_install.add(domain)
            if self._statuses[domain].state is not IntegrationState.DISABLED:
                await self._again({domain})

    async def apply(
        self, changed: Iterable[str], config: Config | None = None, needed: Iterable[str] | None = None
    ) -> None:
        """Apply a changed configuration; unchanged integrations keep running.

        Args:
            changed: Names of sections that changed, appeared or disappeared.
            config: The new configuration.
            needed: Domains that other sections need now; as before without it.
        """
        async with self._changing:
            before, self._config = self._config, config if config is not None else self._config
            self._needed = set(needed) if needed is not None else self._needed
            wanted = self._wanted()
            running = {
                domain for domain, status in self._statuses.items() if status.state is not IntegrationState.DISABLED
            }
            gone = running - wanted
            for domain in reversed(in_order(gone, self._catalog)[0] + in_order(gone, self._catalog)[1]):
                await self._unload(self._statuses[domain], "it is no longer in the configuration")
                self._repairs.clear(SOURCE, domain)
                del self._statuses[domain]
            self._note_disabled()
            told = {each for each in running if platform_items(before, each) != platform_items(self._config, each)}
            await self._again((set(changed) | told) & running & wanted, wanted - running)

    def statuses(self) -> list[dict[str, Any]]:
        """Return the status of every integration in use, by domain."""
        return [self._statuses[domain].as_dict() for domain in sorted(self._statuses)]

    def status(self, domain: str) -> Status | None:
        """Return the status of one integration; None if it is not in use."""
        return self._statuses.get(domain)

    def _wanted(self) -> set[str]:
        return in_use(self._config, self._catalog, self._needed)

    def _note_disabled(self) -> None:
        for domain in disabled_domains(self._config) & self._catalog.keys():
            status = self._statuses.setdefault(domain, Status(self._catalog[domain]))
            self._set(status, IntegrationState.DISABLED, phrase("listed under hub: disabled"))
            self._repairs.clear(SOURCE, domain)
        unknown = sorted(disabled_domains(self._config) - self._catalog.keys())
        if not unknown:
            self._repairs.clear(SOURCE, DISABLED)
            return
        text = phrase("There is no integration {names}.", names=unknown)
        title = phrase("hub: disabled lists an unknown integration")
        self._repairs.raise_(SOURCE, DISABLED, title, text, severity=Severity.WARNING)

    async def _again(self, changed: set[str], new: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        affected = changed | dependents(changed, self._statuses.keys(), self._catalog)
        ordered, circle = in_order(affected, self._catalog)
        for domain in [*circle, *reversed(ordered)]:
            status = self._statuses[domain]
            await self._unload(status, phrase("set up again"))
            status.found = self._catalog[domain]
        await self._set_up_all(affected | new)

    async def _set_up_all(self, domains: set[str]) -> None:
        """Set up in parallel, each after its dependencies."""
        for domain in domains:
            self._statuses.setdefault(domain, Status(self._catalog[domain]))
        ordered, circle = in_order(domains, self._catalog)
        for domain in circle:
            self._fail(self._statuses[domain], f"it waits for itself: {', '.join(circle)} depend on each other")
        work: dict[str, asyncio.Task[None]] = {}
        for domain in ordered:
            waits = [work[each] for each in before(domain, set(ordered), self._catalog)]
            work[domain] = self._tasks.spawn(self._after(waits, domain), name=f"set up {domain}")
        try:
            if work:
                await asyncio.wait(work.values())
        finally:
            for task in work.values():
                task.cancel()

    async def _after(self, waits: list[asyncio.Task[None]], domain: str) -> None:
        if waits:
            await asyncio.wait(waits)
        await self._set_up(self._statuses[domain])

    async def _set_up(self, status: Status) -> None:
        """Set one up and record the result; raises only when cancelled."""
        domain = status.found.domain
        async with status.lock:
            try:
                self._require_dependencies(status)
                await self._try(status)
            except NotReady as error:
                self._retry_later(status, error.message, error.retry_after_s)
            except MissingRequirement as error:
                self._install_or_fail(status, error)
            except HubError as error:
                self._fail(status, error.message)
            except ModuleNotFoundError as error:
                assert status.found.manifest is not None  # noqa: S101  it was imported, so it has one
                missing = missing_requirement(status.found.manifest, error.name or str(error))
                self._fail(status, missing.message, missing.command)
            except Exception as error:  # a failing integration must not stop the others
                _log.exception("%s could not be set up", domain)
                self._fail(status, failure_text(error, status.found))
            else:
                status.attempts, status.installed = 0, False
                self._repairs.clear(SOURCE, domain)
                self._set(status, IntegrationState.SET_UP, "")
        if status.state is IntegrationState.SET_UP:
            self._wake_dependents(domain)

    def _require_dependencies(self, status: Status) -> None:
        """Check the prerequisites of an integration before its own code runs."""
        found = status.found
        if found.manifest is None:
            raise HubError(found.error)
        for name in found.manifest.dependencies:
            other = self._statuses.get(name)
            if other is None:
                why = "is disabled" if name in disabled_domains(self._config) else "does not exist"
                raise HubError(f"it needs {name}, which {why}")
            if other.state in (IntegrationState.RETRYING, IntegrationState.INSTALLING):
                raise NotReady(f"it waits for {name}")
            if other.state is not IntegrationState.SET_UP:
                raise HubError(f"it needs {name}, which is {other.state.value}: {other.reason}")

    async def _try(self, status: Status) -> None:
        found = status.found
        domain = found.domain
        assert found.manifest is not None  # noqa: S101  checked before
        if domain in self._config.broken:
            # One that could not even be read has its errors in the files, and none of its own.
            errors = self._config.broken[domain] or [each for each in self._config.errors if each.section == domain]
            raise HubError(
                f"its configuration is not valid: {errors[0]}" if errors else "its configuration cannot be read"
            )
        status.config = self._section(domain)
        check_requirements(found.manifest)
        status.module = import_integration(found)
        status.registrations = Registrations(domain)
        status.host = self._make_host(domain, status.registrations)
        work = status.module.setup(status.host, status.config)
        try:
            await self._limit.run(work, SETUP_LIMIT_S, f"setting up {domain}")
        except BaseException:  # what it had registered until then must not stay behind
            await status.registrations.undo_all()
            raise

    def _section(self, domain: str) -> Any:
        """Return the configuration of an integration, or its defaults when it is not configured."""
        if domain in self._config:
            return self._config[domain]
        section = self._schemas.section(domain)
        defaults: tuple[Any, ...] = ({}, [])
        for default in defaults:
            try:
                return section.validate(default)
            except SchemaError:
                continue
        raise HubError(f"it must be configured; add {domain}: to the configuration")

    def _install_or_fail(self, status: Status, missing: MissingRequirement) -> None:
        """Install what is missing, or say how to, as `hub: install` says."""
        manifest, installer, domain = status.found.manifest, self._installer, status.found.domain
        extra = manifest.extra if manifest is not None else None
        mode = "auto" if domain in self._may_install else install_mode(self._config)
        if extra is None or installer is None or not installer.is_available or status.installed or self._stopped:
            mode = "never"
        if mode == "auto" and extra is not None and installer is not None:
            self._set(status, IntegrationState.INSTALLING, phrase("The packages it needs are being installed."))
            work = self._install(status, installer, extra, missing.command)
            status.retry = self._tasks.spawn(work, name=f"install {extra}")
        else:
            fix = _install(domain) if mode == "ask" else None
            self._fail(status, missing.message, missing.command, fix)

    async def _install(self, status: Status, installer: Installer, extra: str, command: str) -> None:
        def progress(line: str) -> None:
            reason = phrase("The packages it needs are being installed: {line}", line=line)
            self._set(status, IntegrationState.INSTALLING, reason)

        try:
            await installer.install(extra, progress)
        except InstallFailed as error:
            _log.warning("the packages of %s could not be installed: %s", status.found.domain, error.message)
            told = f"the packages it needs could not be installed ({error.message}); by hand: {command}"
            self._retry_later(status, told, INSTALL_RETRY_S, command)
            return
        status.installed = True
        await self._set_up(status)
        if status.state is IntegrationState.SET_UP:
            for domain, other in list(self._statuses.items()):
                manifest = other.found.manifest
                if manifest is not None and status.found.domain in manifest.after_dependencies:
                    await self.reload(domain)  # it did without until now

    def _retry_later(self, status: Status, reason: str, after_s: float | None, command: str | None = None) -> None:
        if self._stopped:
            return
        pause_s = after_s if after_s is not None else min(RETRY_FIRST_S * 2**status.attempts, RETRY_LIMIT_S)
        status.attempts = min(status.attempts + 1, 16)
        self._set(status, IntegrationState.RETRYING, reason)
        name = status.found.domain
        text = phrase("{reason}. It is retried automatically.", reason=reason)
        self._repairs.raise_(
            SOURCE,
            name,
            phrase("{integration} is not ready yet", integration=_name(status)),
            text,
            severity=Severity.WARNING,
            command=command,
            fix=_try_again(name),
        )
        if status.retry is not None and status.retry is not asyncio.current_task():
            status.retry.cancel()
        status.retry = self._tasks.spawn(self._retry(status, pause_s), name=f"retry {name}")

    async def _retry(self, status: Status, pause_s: float) -> None:
        await self._clock.sleep(pause_s)
        if status.state is IntegrationState.RETRYING:
            await self._set_up(status)

    def _wake_dependents(self, domain: str) -> None:
        """Retry at once the integrations that waited for one that is ready now."""
        for status in self._statuses.values():
            manifest = status.found.manifest
            if manifest is None or domain not in manifest.dependencies or status.state is not IntegrationState.RETRYING:
                continue
            if status.retry is not None and not status.lock.locked():
                status.retry.cancel()
                name = f"retry {status.found.domain}"
                status.retry = self._tasks.spawn(self._retry(status, 0.0), name=name)

    async def _unload(self, status: Status, reason: str) -> None:
        """Unload an integration; a failure is logged and opens a repair, and it counts as unloaded."""
        if status.retry is not None:
            status.retry.cancel()
            status.retry = None
        async with status.lock:
            if status.state is IntegrationState.SET_UP:
                await self._take_down(status)
            status.attempts, status.installed = 0, False
            forget(status.found)
            self._set(status, IntegrationState.UNLOADED, reason)

    async def _take_down(self, status: Status) -> None:
        domain = status.found.domain
        unload = getattr(status.module, "unload", None)
        try:
            if unload is not None:
                await self._limit.run(unload(status.host), UNLOAD_LIMIT_S, f"unloading {domain}")
        except Exception as error:  # the others must still be unloaded
            _log.exception("%s could not be unloaded", domain)
            text = phrase("{error}. Restart the hub if it misbehaves.", error=error)
            title = phrase("{integration} could not be unloaded", integration=_name(status))
            self._repairs.raise_(SOURCE, f"{domain}.unload", title, text, severity=Severity.WARNING)
        if status.registrations is not None:
            await status.registrations.undo_all()
        status.host = status.registrations = None

    def _fail(self, status: Status, reason: str, command: str | None = None, fix: RepairFix | None = None) -> None:
        domain = status.found.domain
        self._set(status, IntegrationState.FAILED, reason)
        location = None
        if domain in self._config.present:
            location = {**self._config.location((domain,)), "path": domain}
        title = phrase("{integration} could not be set up", integration=_name(status))
        self._repairs.raise_(
            SOURCE, domain, title, reason, command=command, location=location, fix=fix or _try_again(domain)
        )

    def _set(self, status: Status, state: IntegrationState, reason: str) -> None:
        if status.state is state and status.reason == reason:
            return
        status.state, status.reason, status.since = state, reason, self._clock.time()
        data = {"domain": status.found.domain, "state": state.value, "reason": reason}
        self._bus.fire(EVENT_INTEGRATION_CHANGED, data)


def _try_again(domain: str) -> RepairFix:
    return RepairFix("integration.reload", {"domain": domain}, phrase("Try again"))


def _install(domain: str) -> RepairFix:
    return RepairFix("integration.reload", {"domain": domain, "install": True}, phrase("Install"))


def _name(status: Status) -> str:
    return status.found.manifest.name if status.found.manifest else status.found.domain
