"""The search engines, one in each file: how they are asked, and how their answers are read.

Their common parts are in `contract.py` beside this folder.
"""

from __future__ import annotations

from collections.abc import Mapping

from integrations.tools.web_search.contract import SearchProvider
from integrations.tools.web_search.providers.brave import BRAVE
from integrations.tools.web_search.providers.duckduckgo import DUCKDUCKGO
from integrations.tools.web_search.providers.exa import EXA
from integrations.tools.web_search.providers.kagi import KAGI
from integrations.tools.web_search.providers.searxng import SEARXNG
from integrations.tools.web_search.providers.tavily import TAVILY

PROVIDERS: Mapping[str, SearchProvider] = {
    "duckduckgo": DUCKDUCKGO,
    "brave": BRAVE,
    "exa": EXA,
    "kagi": KAGI,
    "searxng": SEARXNG,
    "tavily": TAVILY,
}
