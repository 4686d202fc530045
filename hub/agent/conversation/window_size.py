"""Which models have a window large enough for an agent, and which deserve a warning."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.repairs import Repairs, Severity
from hub.models.resolved import Resolved

WINDOW_MIN = 16_000
WINDOW_WARN = 32_000
SOURCE = "models"


class WindowTooSmall(HubError):
    """The model's context window cannot hold an agent's prompt and a conversation."""

    code = "WINDOW_TOO_SMALL"
    http_status = 400


class WindowCheck:
    """Checks the windows of models; a small one opens a repair, which closes when the model gets a larger one.

    Args:
        repairs: Where a small window is reported, if anywhere.
    """

    def __init__(self, repairs: Repairs | None = None) -> None:
        self._repairs = repairs
        self._known: dict[str, int] = {}

    def usable(self, candidates: Sequence[Resolved]) -> list[Resolved]:
        """Return the usable models, in order.

        Raises:
            WindowTooSmall: None of them.
        """
        for candidate in candidates:
            self._judge(candidate.ref, candidate.info.context_window)
        found = [each for each in candidates if each.info.context_window >= WINDOW_MIN]
        if candidates and not found:
            raise WindowTooSmall(_too_small(candidates[0]), details={"model": candidates[0].ref, "needed": WINDOW_MIN})
        if found and found[0].ref != candidates[0].ref and found[0].instead_of is None:
            small = {"kind": "unusable", "model": candidates[0].ref, "reason": _too_small(candidates[0])}
            return [replace(each, instead_of=small) for each in found]
        return found

    def _judge(self, ref: str, window: int) -> None:
        if self._repairs is None or self._known.get(ref) == window:
            return
        known, self._known[ref] = self._known.get(ref), window
        if window < WINDOW_WARN:
            self._repairs.raise_(
                SOURCE,
                f"window:{ref}",
                phrase("The context window of {model} is small", model=ref),
                phrase(
                    "It has {window} tokens; below {wanted} conversations are summarised often, and below {least} a "
                    "model is not used. If it is larger, set context_window of the model in models.providers.",
                    window=str(window),
                    wanted=str(WINDOW_WARN),
                    least=str(WINDOW_MIN),
                ),
                severity=Severity.WARNING,
            )
        elif known is not None:
            self._repairs.clear(SOURCE, f"window:{ref}")


def _too_small(candidate: Resolved) -> str:
    info = candidate.info
    return (
        f"The model {candidate.ref} has a context window of {info.context_window} tokens; an agent needs at least "
        f"{WINDOW_MIN}. Choose another model, or, if its window is larger, set context_window of {info.id} under "
        f"models.providers.{info.provider}.models."
    )
