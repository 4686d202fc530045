"""The health of a provider: its last error, whether it is set aside for a while, and its repair."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.phrases import phrase
from hub.core.repairs import Repairs, Severity
from hub.models.contract import (
    AuthError,
    BillingError,
    ModelError,
    ModelTimeout,
    Overloaded,
    RateLimited,
)
from hub.models.provider_config import ProviderConfig

REPAIR_SOURCE = "models"
REFUSED_ASIDE_S = 60.0
FAILING_ASIDE_S = 30.0
ASIDE_LIMIT_S = 300.0
FAILURES_UNTIL_ASIDE = 3


class Health(Struct):
    """The outcome of one provider's latest calls; a provider that is set aside is tried after the others."""

    clock: Clock
    repairs: Repairs
    config: ProviderConfig
    failures: int = 0
    aside_until: float = 0.0
    error: ModelError | None = None
    last_ok: float | None = None

    @property
    def aside(self) -> bool:
        """Whether others should be tried first now."""
        return self.clock.monotonic() < self.aside_until

    def succeeded(self) -> None:
        """Note a call that came to its end."""
        self.last_ok = self.clock.time()
        if self.error is None:
            return
        self.failures = 0
        self.aside_until = 0.0
        self.error = None
        self.forget()

    def failed(self, error: ModelError) -> None:
        """Note a call that failed; what the request itself is to blame for says nothing of the provider."""
        now = self.clock.monotonic()
        match error:
            case AuthError():
                self.aside_until = now + REFUSED_ASIDE_S
                self._tell(
                    "auth",
                    phrase("{provider} refuses its key", provider=self.config.name),
                    _fix_of_key(self.config),
                    error,
                )
            case BillingError():
                self.aside_until = now + REFUSED_ASIDE_S
                self._tell(
                    "billing",
                    phrase("{provider} needs payment", provider=self.config.name),
                    phrase("Check the balance of the account."),
                    error,
                )
            case RateLimited() | Overloaded() | ModelTimeout():
                self.failures += 1
                if self.failures >= FAILURES_UNTIL_ASIDE:
                    wait_s = max(error.retry_after_s or 0.0, FAILING_ASIDE_S)
                    self.aside_until = now + min(wait_s, ASIDE_LIMIT_S)
                    self._tell(
                        "failing",
                        phrase("{provider} does not answer", provider=self.config.name),
                        phrase("Other models answer meanwhile."),
                        error,
                    )
            case _:
                return
        self.error = error

    def forget(self) -> None:
        """Clear the repairs of this provider, because it works again or is gone."""
        for kind in ("auth", "billing", "failing"):
            self.repairs.clear(REPAIR_SOURCE, f"{self.config.name}-{kind}")

    def as_dict(self) -> dict[str, Any]:
        """The health as plain data."""
        return {
            "aside": self.aside,
            "failures": self.failures,
            "error": self.error.as_dict() if self.error is not None else None,
            "last_ok": self.last_ok,
        }

    def _tell(self, kind: str, title: str, fix: str, error: ModelError) -> None:
        self.repairs.raise_(
            REPAIR_SOURCE,
            f"{self.config.name}-{kind}",
            title,
            phrase("{first} {second}", first=error.message, second=fix),
            severity=Severity.ERROR,
        )


def _fix_of_key(config: ProviderConfig) -> str:
    key = f"models.providers.{config.name}.api_key"
    if config.key_source is None:
        return phrase("Set {setting}.", setting=key)
    if config.key_source == "configuration":
        return phrase("Put a valid key into {setting}.", setting=key)
    return phrase(
        "Put a valid key into the environment variable {variable} or into {setting}.",
        variable=config.key_source,
        setting=key,
    )
