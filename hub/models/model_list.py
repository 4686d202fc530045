"""A public list of models, their windows and prices, newer than the built-in table; fetched when a person asks.

The list is litellm's: https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.executors import FILES
from hub.models.catalog import undated
from hub.models.contract import ModelInfo
from hub.models.vendors import VENDORS
from hub.storage.errors import from_os
from hub.storage.files import read_bounded, write_atomic

if TYPE_CHECKING:
    from hub.security.egress import Egress

LIST_URL = "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"
LIST_LIMIT_BYTES = 16_000_000
FETCH_LIMIT_S = 60.0
MODELS_LIMIT = 5_000
NAME_LIMIT = 256
WINDOW_LIMIT = 100_000_000
PRICE_LIMIT_USD = 100_000
_MILLION = 1_000_000
_PRICES = {
    "input_usd": "input_cost_per_token",
    "output_usd": "output_cost_per_token",
    "cache_read_usd": "cache_read_input_token_cost",
    "cache_write_usd": "cache_creation_input_token_cost",
}

_log = logging.getLogger(__name__)


class _StoredList(Struct, frozen=True):
    fetched_ms: int
    models: tuple[ModelInfo, ...]


class ModelList:
    """The list that was fetched last, kept in a file.

    Args:
        path: The file.
        clock: The clock of the hub.

    Attributes:
        fetched_ms: When it was fetched, milliseconds since the epoch; None if it never was.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._infos: dict[tuple[str, str], ModelInfo] = {}
        self.fetched_ms: int | None = None

    def load(self) -> None:
        """Load the file; a damaged one is set aside under a telling name.

        Raises:
            StorageError: It cannot be read.
        """
        try:
            self._take(msgspec.json.decode(read_bounded(self._path, LIST_LIMIT_BYTES), type=_StoredList))
        except FileNotFoundError:
            return
        except OSError as error:
            raise from_os(error, self._path, "reading") from error
        except ValueError as error:
            aside = self._path.with_name(f"{self._path.name}.damaged-{int(self._clock.time())}")
            self._path.rename(aside)
            _log.error("the list of models cannot be read (%s) and was set aside as %s", error, aside.name)

    def find(self, vendor: str, model_id: str) -> ModelInfo | None:
        """Return the properties of a vendor's model; a dated id is its undated one."""
        for id in (model_id, undated(model_id)):
            if (found := self._infos.get((vendor, id))) is not None:
                return msgspec.structs.replace(found, id=model_id)
        return None

    async def refresh(self, egress: Egress, url: str = LIST_URL) -> Mapping[str, Any]:
        """Fetch the list, and keep it in place of the last one.

        Returns:
            `models`, `vendors`: how many there are; `new`: the models that were not in the last one.

        Raises:
            HubError: It cannot be fetched or kept, or is no such list; the last one stays.
        """
        answer = await egress.fetch(url, limit_bytes=LIST_LIMIT_BYTES, timeout_s=FETCH_LIMIT_S)
        if answer.status != 200:
            raise Unavailable(f"The list of models could not be fetched from {url}: HTTP {answer.status}.")
        infos = await FILES.run(_read, answer.body)
        if not infos:
            raise Unavailable(f"What {url} answered is no list of models.")
        stored = _StoredList(int(self._clock.time() * 1_000), infos)
        await FILES.run(write_atomic, self._path, msgspec.json.encode(stored))
        before = self._infos.keys()
        new = sorted(each.ref for each in infos if before and (each.provider, each.id) not in before)
        self._take(stored)
        return {"models": len(infos), "vendors": len({each.provider for each in infos}), "new": new}

    def _take(self, stored: _StoredList) -> None:
        self._infos = {(each.provider, each.id): each for each in stored.models}
        self.fetched_ms = stored.fetched_ms


def listed_model(provider: str, model_id: str, facts: Any) -> ModelInfo | None:
    """Return a model as litellm's list describes it; None for what is no model to talk to, or not described well.

    Args:
        provider: The provider's name in the configuration.
        model_id: The id as the provider knows it.
        facts: The entry of the list.
    """
    if not isinstance(facts, dict) or facts.get("mode") not in ("chat", "responses"):
        return None
    window, longest = facts.get("max_input_tokens") or facts.get("max_tokens"), facts.get("max_output_tokens")
    known: dict[str, Any] = {"context_window": window} if _is_count(window) else {}
    for ours, theirs in _PRICES.items():
        price = facts.get(theirs)
        if isinstance(price, (int, float)) and 0 <= price * _MILLION <= PRICE_LIMIT_USD:
            known[ours] = round(price * _MILLION, 6)
    return ModelInfo(
        model_id,
        provider,
        max_output_tokens=longest if _is_count(longest) else None,
        tools=bool(facts.get("supports_function_calling", True)),
        images=bool(facts.get("supports_vision")),
        thinking=bool(facts.get("supports_reasoning")),
        **known,
    )


def _read(body: bytes) -> tuple[ModelInfo, ...]:
    try:
        entries = orjson.loads(body)
    except ValueError:
        return ()
    found: list[ModelInfo] = []
    for name, facts in entries.items() if isinstance(entries, dict) else ():
        vendor = facts.get("litellm_provider") if isinstance(facts, dict) else None
        if not isinstance(vendor, str) or vendor not in VENDORS or len(name) > NAME_LIMIT:
            continue
        info = listed_model(vendor, name.removeprefix(f"{vendor}/"), facts)
        if info is not None and info.input_usd is not None:
            found.append(info)
    return tuple(found[:MODELS_LIMIT])


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= WINDOW_LIMIT
