"""The accounts of channels: their configuration and status, and adding one with a live test."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from hub.config.errors import ConfigError, ConfigInvalid
from hub.config.files import SECRETS_FILE
from hub.config.sections import SchemaProblem
from hub.config.spans import Tagged
from hub.config.store import ConfigStore, ReloadResult
from hub.config.suggest import did_you_mean
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.events import EventBus
from hub.core.phrases import Phrase
from hub.integration.manager import EVENT_INTEGRATION_CHANGED, IntegrationManager
from hub.integration.status import IntegrationState
from hub.messaging.account_fields import AccountForm, account_form, is_given, typed_value
from hub.messaging.capabilities import CanLink, CanSignIn, HasPage, LinkStep
from hub.messaging.channels import EVENT_CHANNEL_STATUS, ChannelRegistry
from hub.messaging.contract import ChannelState
from hub.messaging.places import DEFAULT_ACCOUNT, KIND, written_accounts

CONNECT_LIMIT_S = 25.0
"""How long a new account may take to reach its platform."""
PROBE_LIMIT_S = 20.0
_NO_NAME = re.compile(r"[^a-z0-9]+")

Place = tuple[str | int, ...]
"""Where something is written in the configuration."""
Apply = Callable[[ReloadResult], Awaitable[None]]


class ChannelAccounts:
    """Lists and probes the accounts of channels, adds them to the configuration and removes them.

    Args:
        config: The configuration, and its files.
        channels: The channels that are logged in.
        integrations: The integrations that bring channels.
        apply: Applies a changed configuration.
    """

    def __init__(
        self,
        config: ConfigStore,
        channels: ChannelRegistry,
        integrations: IntegrationManager,
        bus: EventBus,
        apply: Apply,
    ) -> None:
        self._config = config
        self._channels = channels
        self._integrations = integrations
        self._bus = bus
        self._apply = apply
        self._changing = asyncio.Lock()

    def all(self) -> list[dict[str, Any]]:
        """Return every configured or logged-in account with its status, by channel and name."""
        found = {(domain, name): self._down(domain, name) for domain, name in self.configured_accounts()}
        for attached in self._channels.all():
            channel = attached.channel
            if self._channels.is_home(channel.name):
                continue
            found[channel.name, channel.account] = {
                **self._named(channel.name, channel.account),
                **asdict(attached.status),
                "capabilities": sorted(attached.capabilities),
                "linkable": isinstance(channel, CanLink),
                "signs_in": isinstance(channel, CanSignIn),
                "page_url": channel.page_url if isinstance(channel, HasPage) else None,
            }
        return [found[key] for key in sorted(found)]

    def configured_accounts(self) -> list[tuple[str, str]]:
        """Return channel and name of every account in the configuration."""
        return [(domain, name) for domain in self._domains() for name in self._written(domain)]

    async def probe(self, channel: str, account: str = DEFAULT_ACCOUNT) -> dict[str, Any]:
        """Ask a platform whether it can be reached, and as whom; errors are part of the answer.

        Raises:
            NotFound: That account is not logged in.
        """
        attached = self._channels.get(channel, account)
        if attached is None:
            raise NotFound(f"{channel} has no account {account} that is logged in; see homarus channels list")
        try:
            async with asyncio.timeout(PROBE_LIMIT_S):
                return await attached.channel.probe()
        except TimeoutError:
            return {"ok": False, "error": f"no answer within {PROBE_LIMIT_S:g} s"}
        except HubError as error:
            return {"ok": False, "error": error.message}

    async def link(
        self, channel: str, account: str, *, begin: bool, number: str | None, pasted: str | None = None
    ) -> LinkStep:
        """Link an account to a phone; return where that stands.

        Args:
            begin: Whether to begin, unless it goes on already.
            number: The phone's, to type a code there instead of scanning one.
            pasted: The address at which the browser ended, where the hub could not see it.

        Raises:
            NotFound: That account is not set up.
            InvalidRequest: The channel links no phones, or nobody signs in there.
        """
        attached = self._channels.get(channel, account)
        if attached is None:
            raise NotFound(f"{channel} has no account {account} that is set up; see homarus channels list")
        if not isinstance(attached.channel, CanLink):
            raise InvalidRequest(f"{channel} is not linked to a phone; it has credentials: homarus channels login")
        if pasted is None:
            return await attached.channel.link(number) if begin else attached.channel.link_step()
        if not isinstance(attached.channel, CanSignIn):
            raise InvalidRequest(f"{channel} is linked by a code, and takes no address of a page")
        return await attached.channel.complete_link(pasted)

    def kinds(self) -> list[dict[str, Any]]:
        """Return the channels that can be added, each with the form of an account."""
        return [
            {"channel": domain, "name": self._name(domain), "documentation": self._pages(domain), **asdict(form)}
            for domain in self._domains()
            if (form := self._form(domain)).fields
        ]

    async def add(self, channel: str, account: Mapping[str, Any]) -> dict[str, Any]:
        """Write an account into the configuration, log it in, and return its status.

        Secrets go into secrets.yaml. An account that cannot be logged in is removed again.

        Args:
            channel: Domain of its integration.
            account: The values of its fields; `account` is its name.

        Raises:
            NotFound: There is no such channel.
            Conflict: There is an account of that name.
            InvalidRequest: A value does not fit, or the platform refused it; the files are as before.
        """
        name = str(account.get("account") or DEFAULT_ACCOUNT)
        fields = {field["name"]: field for field in self._known_fields(channel)}
        if unknown := [key for key in account if key not in fields]:
            hint = did_you_mean(unknown[0], fields)
            raise InvalidRequest(f"{channel} has no field {unknown[0]}" + (f"; {hint}" if hint else ""))
        missing = [key for key, field in fields.items() if field["required"] and not account.get(key)]
        if missing:
            raise InvalidRequest(f"{channel}: {', '.join(missing)} is missing")
        async with self._changing:
            if name in self._written(channel):
                raise Conflict(f"{channel} has an account {name} already; give the new one another name")
            before = await asyncio.to_thread(self._write, channel, name, account, fields)
            try:
                return await self._logged_in(channel, name)
            except BaseException:
                await asyncio.shield(self._restore(before))
                raise

    def credentials(self, channel: str, account: str) -> list[dict[str, Any]]:
        """Return the secret fields that a configured account uses, or needs.

        Raises:
            NotFound: It is not configured.
        """
        _, configured = self._account(channel, account)
        fields = self._known_fields(channel)
        return [
            field for field in fields if field["secret"] and (field["required"] or is_given(configured, field["name"]))
        ]

    async def login(self, channel: str, account: str, credentials: Mapping[str, str]) -> dict[str, Any]:
        """Give an account new credentials and log it in; the old ones stay if the platform refuses the new ones.

        Raises:
            NotFound: It is not configured.
            InvalidRequest: A field is not a credential, or the platform refused them; the files are as before.
        """
        known = {field["name"] for field in self._known_fields(channel) if field["secret"]}
        if other := set(credentials) - known:
            raise InvalidRequest(f"{channel}: {min(other)} is not a credential; {', '.join(sorted(known))} are")
        async with self._changing:
            keys, _ = self._account(channel, account)
            secrets = {_secret_name(channel, account, key): value for key, value in credentials.items()}

            def write() -> dict[str, str]:
                editor = self._config.editor
                place = editor.where(lambda _: (channel,))
                before = {place.file: place.text, SECRETS_FILE: self._config.editor.set_secrets(secrets)}
                for key in credentials:
                    editor.set_value((*keys, *key.split(".")), Tagged("!secret", _secret_name(channel, account, key)))
                return before

            before = await asyncio.to_thread(write)
            try:
                return await self._logged_in(channel, account)
            except BaseException:
                await asyncio.shield(self._restore(before))
                raise

    async def remove(self, channel: str, account: str) -> None:
        """Log an account out and remove it from the configuration; its secrets stay in secrets.yaml.

        Raises:
            NotFound: It is not configured.
        """
        async with self._changing:
            keys, _ = self._account(channel, account)
            if len(self._written(channel)) == 1:
                keys = (channel,)
            await asyncio.to_thread(self._config.editor.remove_value, keys)
            await self._apply(await self._config.reload())

    def _write(
        self, channel: str, name: str, account: Mapping[str, Any], fields: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, str]:
        """Write the account and its secrets; return the former files."""
        editor = self._config.editor
        values: dict[str, Any] = {"account": name} if name != DEFAULT_ACCOUNT else {}
        secrets: dict[str, str] = {}
        for key, value in account.items():
            if key == "account" or value in (None, ""):
                continue
            *outer, last = key.split(".")
            holder = values
            for each in outer:
                holder = holder.setdefault(each, {})
            if not fields[key]["secret"]:
                holder[last] = typed_value(fields[key], value)
                continue
            secret = _secret_name(channel, name, key)
            secrets[secret] = str(value)
            holder[last] = Tagged("!secret", secret)
        keys, value = self._place(channel, values)
        place = editor.where(lambda _: (channel,))
        before = {place.file: place.text}
        if secrets:
            before[SECRETS_FILE] = self._config.editor.set_secrets(secrets)
        try:
            editor.set_value(keys, value)
        except HubError as error:
            self._put_back({SECRETS_FILE: before[SECRETS_FILE]} if secrets else {})
            if isinstance(error, ConfigInvalid):
                raise _refusal(channel, error.errors[0]) from error
            raise
        return before

    def _place(self, channel: str, values: dict[str, Any]) -> tuple[tuple[str | int, ...], Any]:
        """Return the place for a further account, and the value to write."""
        raw = self._config.current.raw.get(channel)
        if raw is None:
            return (channel,), [values]
        if isinstance(raw, list):
            return (channel, len(raw)), values
        return (channel,), [self._config.editor.get_value((channel,)), values]

    def _put_back(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            _, base = self._config.editor.read_file(name, admin=True)
            self._config.editor.write_file(name, text, base)

    async def _restore(self, files: Mapping[str, str]) -> None:
        await asyncio.to_thread(self._put_back, files)
        await self._apply(await self._config.reload())

    async def _logged_in(self, channel: str, account: str) -> dict[str, Any]:
        """Apply the configuration, and wait until the account has reached its platform, or the hub restarts.

        One that is to be linked to a phone by a person need not reach it.

        Raises:
            InvalidRequest: It did not.
        """
        heard = asyncio.Event()
        unlisten = [
            self._bus.listen(name, lambda _: heard.set()) for name in (EVENT_CHANNEL_STATUS, EVENT_INTEGRATION_CHANGED)
        ]
        try:
            result = await self._config.reload()
            if not result.applied:
                raise _refusal(channel, result.errors[0])
            await self._apply(result)
            if result.restarting:
                return self._one(channel, account)
            async with asyncio.timeout(CONNECT_LIMIT_S):
                while True:
                    heard.clear()
                    attached = self._channels.get(channel, account)
                    if attached is not None and isinstance(attached.channel, CanLink):
                        return self._one(channel, account)
                    self._refuse_failed(channel, account)
                    if attached is not None and attached.status.state is ChannelState.CONNECTED:
                        return self._one(channel, account)
                    await heard.wait()
        except TimeoutError:
            attached = self._channels.get(channel, account)
            why = attached.status.error if attached is not None and attached.status.error else "no answer"
            raise InvalidRequest(f"{channel} could not be reached within {CONNECT_LIMIT_S:g} s: {why}") from None
        finally:
            for each in unlisten:
                each()

    def _one(self, channel: str, account: str) -> dict[str, Any]:
        return next(each for each in self.all() if (each["channel"], each["account"]) == (channel, account))

    def _refuse_failed(self, channel: str, account: str) -> None:
        attached = self._channels.get(channel, account)
        if attached is not None and attached.status.state is ChannelState.FAILED:
            raise InvalidRequest(f"{channel} refused the account {account}: {attached.status.error}")
        status = self._integrations.status(channel)
        if attached is None and status is not None and status.state is IntegrationState.FAILED:
            raise InvalidRequest(f"{channel} could not be set up: {status.reason}")

    def _domains(self) -> list[str]:
        """Return the domains of the integrations that bring a channel, but that of the hub's own conversations."""
        return sorted(
            domain
            for domain, found in self._integrations.catalog.items()
            if found.manifest is not None and found.manifest.kind == KIND and not found.manifest.default
        )

    def _name(self, domain: str) -> str:
        found = self._integrations.catalog.get(domain)
        return found.manifest.name if found is not None and found.manifest is not None else domain

    def _pages(self, domain: str) -> str:
        found = self._integrations.catalog.get(domain)
        return found.manifest.documentation if found is not None and found.manifest is not None else ""

    def _written(self, domain: str) -> dict[str, tuple[Place, Mapping[str, Any]]]:
        return written_accounts(self._config.current, domain)

    def _account(self, channel: str, account: str) -> tuple[Place, Mapping[str, Any]]:
        """Return the place of an account in the configuration, and its value.

        Raises:
            NotFound: The configuration has no such account.
        """
        found = self._written(channel).get(account)
        if found is None:
            raise NotFound(f"{channel} has no account {account} in the configuration")
        return found

    def _named(self, domain: str, account: str) -> dict[str, Any]:
        return {"channel": domain, "account": account, "name": self._name(domain)}

    def _down(self, domain: str, account: str) -> dict[str, Any]:
        """Return a configured account that is not logged in."""
        status = self._integrations.status(domain)
        reason = status.reason if status is not None else ""
        return {
            **self._named(domain, account),
            "state": ChannelState.FAILED.value,
            "error": reason or "it is not set up; see homarus integration list",
            "capabilities": [],
        }

    def _known_fields(self, channel: str) -> Sequence[dict[str, Any]]:
        domains = self._domains()
        if channel not in domains:
            hint = did_you_mean(channel, domains)
            raise NotFound(f"there is no channel {channel}; " + (hint or f"there are: {', '.join(domains)}"))
        fields = self._form(channel).fields
        if not fields:
            raise InvalidRequest(f"{channel} has no accounts to add")
        return fields

    def _form(self, domain: str) -> AccountForm:
        try:
            section = self._config.sections.get(domain)
        except SchemaProblem:
            return AccountForm()  # the integration cannot be used, and says why itself
        return AccountForm() if section is None else account_form(section.schema)


def _refusal(channel: str, error: ConfigError) -> InvalidRequest:
    """Return an error of the configuration by the field that was typed: no file has changed, so no line is named."""
    if error.section != channel:
        return InvalidRequest(str(error))
    field = ".".join(key for key in error.keys[1:] if isinstance(key, str))
    reason = error.message.values.get("reason", error.message) if isinstance(error.message, Phrase) else error.message
    return InvalidRequest(": ".join(filter(None, (channel, field, reason))), details={"field": field})


def _secret_name(channel: str, account: str, key: str) -> str:
    name = "" if account == DEFAULT_ACCOUNT else account
    return _NO_NAME.sub("_", f"{channel} {name} {key}".lower())
