"""OSV's API as far as it is asked: `POST /v1/querybatch`.

https://google.github.io/osv.dev/post-v1-querybatch/: the results are in the order of the queries, each with ids and
dates alone, or `{}`; what does not fit is behind a `next_page_token`. A query without a package is a 400.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.servers.scripted import ThreadedServer

QUERIES_LIMIT = 1_000
MODIFIED = "2023-03-14T05:47:39.989396Z"


class OsvServer(ThreadedServer):
    """The service.

    Attributes:
        known: Ids by the name and version of a package.
        page: Ids of a page.
        status: Answered instead of 200.
        asked: Bodies of requests, in order.
    """

    def __init__(self) -> None:
        super().__init__("OSV")
        self.known: dict[tuple[str, str], list[str]] = {}
        self.page = 1_000
        self.status = 200
        self.asked: list[dict[str, Any]] = []

    def application(self) -> web.Application:
        """Return what is served."""
        application = web.Application()
        application.router.add_post("/v1/querybatch", self._batch)
        return application

    async def _batch(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        if self.status != 200:
            return web.json_response({"code": 14, "message": "try again"}, status=self.status)
        if len(body["queries"]) > QUERIES_LIMIT or any("package" not in each for each in body["queries"]):
            return web.json_response({"code": 3, "message": "Invalid query."}, status=400)
        return web.json_response({"results": [self._result(each) for each in body["queries"]]})

    def _result(self, query: dict[str, Any]) -> dict[str, Any]:
        assert query["package"]["ecosystem"] == "PyPI"
        ids = self.known.get((query["package"]["name"], query["version"]), [])
        first = int(query.get("page_token", "0"))
        shown, rest = ids[first : first + self.page], ids[first + self.page :]
        result: dict[str, Any] = {"vulns": [{"id": each, "modified": MODIFIED} for each in shown]} if shown else {}
        return result | ({"next_page_token": str(first + self.page)} if rest else {})
