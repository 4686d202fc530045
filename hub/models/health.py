"""The health of a credential at its provider: its last error, whether it is set aside for a while, and its repair."""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.phrases import phrase
from hub.core.repairs import RepairFix, Repairs, Severity
from hub.models.contract import (
    AuthError,
    BillingError,
    ModelError,
    ModelTimeout,
    Overloaded,
    RateLimited,
)
from hub.models.cooldowns import CooldownPlace, Cooldowns, Rest, fingerprint
from hub.models.provider_config import DEFAULT_CREDENTIAL, ProviderConfig

REPAIR_SOURCE = "models"
FAILING_ASIDE_S = 30.0
ASIDE_LIMIT_S = 300.0
FAILURES_UNTIL_ASIDE = 3


class Health(Struct):
    """The outcome of one credential's latest calls; a resting credential is tried after the others."""

    clock: Clock
    repairs: Repairs
    cooldowns: Cooldowns
    config: ProviderConfig
    failures: int = 0
    aside_until: float = 0.0
    error: ModelError | None = None
    last_ok: float | None = None

    def rest(self, model: str) -> Rest | None:
        """Return how long others should be tried first, and why; None if it need not rest."""
        failing_s = self.aside_until - self.clock.monotonic()
        cooldown = self.cooldowns.rest(self._place(model), self._key)
        if failing_s > (cooldown.seconds if cooldown is not None else 0.0):
            return Rest(failing_s, "failing")
        return cooldown

    def record_success(self, model: str) -> None:
        """Record a successful call."""
        self.last_ok = self.clock.time()
        if self.cooldowns.found:
            self.cooldowns.record_success(self._place(model))
        if self.error is None:
            return
        self.failures = 0
        self.aside_until = 0.0
        self.error = None
        self.forget()

    def record_failure(self, model: str, error: ModelError) -> None:
        """Record a failed call; a failure caused by the request says nothing about the provider."""
        self.cooldowns.record_failure(self._place(model), error, self._key)
        match error:
            case AuthError():
                self._tell(
                    "auth", phrase("{provider} refuses its key", provider=self._name), _fix_of_key(self.config), error
                )
            case BillingError():
                self._tell(
                    "billing",
                    phrase("{provider} needs payment", provider=self._name),
                    phrase("Check the balance of the account."),
                    error,
                )
            case RateLimited() | Overloaded() | ModelTimeout():
                self.failures += 1
                if self.failures >= FAILURES_UNTIL_ASIDE:
                    wait_s = max(error.retry_after_s or 0.0, FAILING_ASIDE_S)
                    self.aside_until = self.clock.monotonic() + min(wait_s, ASIDE_LIMIT_S)
                    self.cooldowns.begun += 1
                    self._tell(
                        "failing",
                        phrase("{provider} does not answer", provider=self._name),
                        phrase("Other models answer meanwhile."),
                        error,
                    )
            case _:
                return
        self.error = error

    def forget(self) -> None:
        """Clear the repairs of this credential, because it works again or was removed."""
        for kind in ("auth", "billing", "failing"):
            self.repairs.clear(REPAIR_SOURCE, f"{self._name}-{kind}")

    def as_dict(self) -> dict[str, Any]:
        """The health as plain data."""
        left_s = self.aside_until - self.clock.monotonic()
        cooldowns = self.cooldowns.of(self.config.name, self.config.credential, self._key)
        return {
            "aside": left_s > 0 or bool(cooldowns),
            "aside_s": math.ceil(max(0.0, left_s)),
            "cooldowns": cooldowns,
            "failures": self.failures,
            "error": self.error.as_dict() if self.error is not None else None,
            "last_ok": self.last_ok,
        }

    @property
    def _name(self) -> str:
        """The provider, and the credential where there are several."""
        name, credential = self.config.name, self.config.credential
        return name if credential == DEFAULT_CREDENTIAL else f"{name}@{credential}"

    @property
    def _key_name(self) -> str:
        """The credential as models are named by it."""
        return f"{self.config.name}@{self.config.credential}"

    @property
    def _key(self) -> str:
        """Return the key of a cooldown: it covers key, address and headers, since others may be accepted."""
        config = self.config
        headers = [f"{name}: {value.reveal()}" for name, value in sorted(config.headers.items())]
        return fingerprint(config.api_key, config.base_url or "", *headers)

    def _place(self, model: str) -> CooldownPlace:
        return CooldownPlace(self.config.name, self.config.credential, model)

    def _tell(self, kind: str, title: str, fix: str, error: ModelError) -> None:
        self.repairs.raise_(
            REPAIR_SOURCE,
            f"{self._name}-{kind}",
            title,
            phrase("{first} {second}", first=f"{error.message.rstrip('.')}.", second=fix),
            severity=Severity.ERROR,
            fix=RepairFix(
                "models.test", {"model": f"{self.config.name}@{self.config.credential}"}, phrase("Test again")
            ),
        )


def _fix_of_key(config: ProviderConfig) -> str:
    key = f"models.providers.{config.name}.{config.key_setting}"
    if config.key_source is None:
        return phrase("Set {setting}.", setting=key)
    if config.key_source == "configuration":
        return phrase("Put a valid key into {setting}.", setting=key)
    return phrase(
        "Put a valid key into the environment variable {variable} or into {setting}.",
        variable=config.key_source,
        setting=key,
    )
