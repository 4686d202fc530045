"""One search: the provider is asked through the egress client, and its answer is read in a separate process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import LimitExceeded, Unavailable
from hub.security.egress import Egress, Fetched
from integrations.tools.recent_answers import RecentAnswers
from integrations.tools.web_search.contract import URL_CHARS, SearchQuery, WebResult
from integrations.tools.web_search.providers import PROVIDERS

ANSWER_LIMIT_BYTES = 2_000_000
WAIT_LIMIT_S = 5.0
"""A provider that asks to wait no longer than this is asked once more."""
PAUSE_S = 30.0
"""How long a provider is left alone that is asked too often and does not say how long to wait."""
PAUSE_LIMIT_S = 3_600.0


class Searching:
    """Searches with the configured provider.

    Args:
        egress: Asks it.
        clock: Measures how long it is left alone.
        config: The validated section `web_search:`.
    """

    def __init__(self, egress: Egress, clock: Clock, config: Mapping[str, Any]) -> None:
        self.provider = PROVIDERS[config["provider"]]
        self._egress = egress
        self._clock = clock
        self._config = config
        self._recent: RecentAnswers[list[WebResult]] = RecentAnswers(clock, config["keep"])
        self._not_before = 0.0

    async def search(self, query: SearchQuery) -> list[WebResult]:
        """Return the results, at most `query.count`.

        Raises:
            LimitExceeded: The provider was asked too often.
            Unavailable: It refuses the key, does not answer, or answers something else than results.
        """
        if (kept := self._recent.get(query)) is not None:
            return kept
        body = (await self._asked(query)).body
        read = await self._egress.reader.read(
            f"the answer of {self.provider.label}", self.provider.results, body, returns=list[WebResult]
        )
        fit = [each for each in read if each.url.startswith(("http://", "https://")) and len(each.url) <= URL_CHARS]
        found = fit[: query.count]
        self._recent.put(query, found, sum(len(each.title) + len(each.url) + len(each.snippet) for each in found))
        return found

    async def _asked(self, query: SearchQuery) -> Fetched:
        """Return an answer with status 200; a provider that is asked too often is left alone."""
        label = self.provider.label
        left_s = self._not_before - self._clock.monotonic()
        if left_s > 0:
            raise LimitExceeded(f"{label} was asked too often; ask again in {left_s:.0f} s")
        answer = await self._fetch(query)
        if answer.status == 429 and (wait_s := _retry_after(answer)) <= WAIT_LIMIT_S:
            await self._clock.sleep(wait_s)
            answer = await self._fetch(query)
        if answer.status == 200:
            return answer
        if answer.status == 429:
            wait_s = _retry_after(answer)
            self._not_before = self._clock.monotonic() + wait_s
            raise LimitExceeded(f"{label} was asked too often; ask again in {wait_s:.0f} s")
        if answer.status in (401, 403):
            hint = (
                "web_search: api_key"
                if self.provider.needs_key
                else "whether it gives results to programs (docs/web.md)"
            )
            raise Unavailable(f"{label} refuses the search (status {answer.status}); check {hint}")
        raise Unavailable(f"{label} answered with the status {answer.status} instead of results")

    async def _fetch(self, query: SearchQuery) -> Fetched:
        key = self._config.get("api_key")
        url = self._config.get("url", self.provider.url)
        request = self.provider.request(query, url, key.reveal() if key is not None else "")
        return await self._egress.fetch(
            request.url,
            method="GET" if request.body is None else "POST",
            headers=request.headers,
            body=request.body,
            limit_bytes=ANSWER_LIMIT_BYTES,
            timeout_s=self._config["timeout"],
        )


def _retry_after(answer: Fetched) -> float:
    """Return how many seconds to wait; also a date is a while."""
    stated = answer.headers.get("retry-after", "")
    return min(float(stated), PAUSE_LIMIT_S) if stated.isascii() and stated.isdigit() else PAUSE_S
