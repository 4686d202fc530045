"""A registry of skills: ClawHub's public API (v1), and a site with an index as agentskills.io describes it.

https://github.com/openclaw/clawhub/blob/main/docs/http-api.md: errors are plain text, a slug that several publishers
have is a 409 with the choices, requests are counted, and one beyond the limit is a 429 with Retry-After. ZIP files
have their files at the root, beside a `_meta.json` of the registry. A skill kept at GitHub is handed over as JSON.
https://github.com/cloudflare/agent-skills-discovery-rfc: `/.well-known/agent-skills/index.json`, with a digest each.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from aiohttp import web

from tests.servers.scripted import ThreadedServer
from tests.skills.malicious import packed

CLEAN, SUSPICIOUS, MALICIOUS = "clean", "suspicious", "malicious"


class SkillRegistry(ThreadedServer):
    """The registry.

    Attributes:
        published: Skills by (owner, slug): versions (files by path), newest last, and what the registry says of them.
        index: Entries of the index; `artifacts` are what is at their addresses.
        repository: Files of the repository at GitHub.
        budget: Requests that are still answered; None is any number.
        asked: Paths with their queries, in order.
    """

    def __init__(self) -> None:
        super().__init__("registry of skills")
        self.published: dict[tuple[str, str], dict[str, Any]] = {}
        self.index: dict[str, Any] = {
            "$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
            "skills": [],
        }
        self.artifacts: dict[str, bytes] = {}
        self.repository: dict[str, str] = {}
        self.budget: int | None = None
        self.asked: list[str] = []

    def publish(self, owner: str, slug: str, version: str, files: dict[str, str], **facts: Any) -> None:
        """Publish a version of a skill."""
        skill = self.published.setdefault(
            (owner, slug),
            {"versions": {}, "displayName": slug, "summary": None, "scan": CLEAN, "downloads": 0, "github": None},
        )
        skill["versions"][version] = files
        skill.update(facts)

    def list_skill(self, name: str, data: bytes, url: str, description: str = "", type: str = "archive") -> None:
        """Put a skill into the index."""
        self.artifacts[url.rpartition("/")[2]] = data
        entry = {"name": name, "type": type, "description": description, "url": url}
        self.index["skills"].append({**entry, "digest": f"sha256:{sha256(data).hexdigest()}"})

    def application(self) -> web.Application:
        application = web.Application(middlewares=[self._count])
        routes = application.router
        routes.add_get("/api/v1/search", self._search)
        routes.add_get("/api/v1/download", self._download)
        routes.add_get("/repos/{owner}/{name}/zipball/{commit}", self._zipball)
        routes.add_get("/.well-known/agent-skills/index.json", self._index)
        routes.add_get("/.well-known/agent-skills/{file}", self._artifact)
        return application

    @web.middleware
    async def _count(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        if self.budget is not None:
            if self.budget == 0:
                limits = {"RateLimit-Limit": "20", "RateLimit-Remaining": "0", "RateLimit-Reset": "34"}
                return web.Response(text="Rate limit exceeded", status=429, headers={**limits, "Retry-After": "34"})
            self.budget -= 1
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _search(self, request: web.Request) -> web.StreamResponse:
        words = request.query.get("q", "").strip().lower().split()
        limit = request.query.get("limit", "20")
        if not limit.isdecimal():
            return web.Response(text="Invalid limit", status=400)
        careful = "true" in (request.query.get("nonSuspiciousOnly"), request.query.get("nonSuspicious"))
        results = []
        for (owner, slug), skill in self.published.items():
            text = f"{slug} {skill['displayName']} {skill['summary']}".lower()
            hidden = skill["scan"] == MALICIOUS or (careful and skill["scan"] == SUSPICIOUS)
            if hidden or not words or not any(word in text for word in words):
                continue
            results.append(
                {
                    "score": 0.5,
                    "slug": slug,
                    "displayName": skill["displayName"],
                    "summary": skill["summary"],
                    "version": list(skill["versions"])[-1] if skill["versions"] else None,
                    "updatedAt": 1_730_000_000_000,
                    "downloads": skill["downloads"],
                    "ownerHandle": owner,
                    "owner": {"handle": owner, "displayName": owner, "image": None},
                }
            )
        return web.json_response({"results": results[: int(limit)]})

    async def _download(self, request: web.Request) -> web.StreamResponse:
        slug = request.query.get("slug", "").strip().lower()
        if not slug:
            return web.Response(text="Missing slug", status=400)
        handle = request.query.get("ownerHandle", "").strip().lstrip("@").lower()
        owners = [owner for owner, name in self.published if name == slug and handle in ("", owner)]
        if not owners:
            return web.Response(text="Skill not found", status=404)
        if len(owners) > 1:
            matches = [
                {"ownerHandle": each, "slug": slug, "ref": f"@{each}/{slug}", "url": f"/{each}/skills/{slug}"}
                for each in owners
            ]
            said = {"code": "AMBIGUOUS_SKILL_SLUG", "message": f'Found multiple skills with the slug "{slug}"'}
            return web.json_response({**said, "slug": slug, "matches": matches}, status=409)
        skill = self.published[owners[0], slug]
        if skill["scan"] == MALICIOUS:
            return web.Response(text="Blocked: this skill was flagged as malicious.", status=403)
        if skill["scan"] == "pending":
            return web.Response(text="GitHub-backed skill security scan is in progress.", status=423)
        if skill["github"] is not None:
            return web.json_response({"sourceRef": "public-github", **skill["github"]})
        version = request.query.get("version") or list(skill["versions"])[-1]
        if version not in skill["versions"]:
            return web.Response(text="Version not found", status=404)
        meta = json.dumps({"ownerId": "k17", "slug": slug, "version": version, "publishedAt": 1_730_000_000_000})
        data = packed({**skill["versions"][version], "_meta.json": meta})
        disposition = f'attachment; filename="{slug}-{version}.zip"'
        return web.Response(body=data, content_type="application/zip", headers={"Content-Disposition": disposition})

    async def _zipball(self, request: web.Request) -> web.StreamResponse:
        """Answer as GitHub does: all files below one folder that is named by the commit."""
        place = request.match_info
        folder = f"{place['owner']}-{place['name']}-{place['commit'][:7]}"
        data = packed({f"{folder}/{path}": text for path, text in self.repository.items()})
        return web.Response(body=data, content_type="application/zip")

    async def _index(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self.index)

    async def _artifact(self, request: web.Request) -> web.StreamResponse:
        data = self.artifacts.get(request.match_info["file"])
        if data is None:
            return web.Response(text="not here", status=404)
        type = "application/gzip" if data.startswith(b"\x1f\x8b") else "application/zip"
        return web.Response(body=data, content_type=type if data[:1] != b"-" else "text/markdown")
