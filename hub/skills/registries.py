"""The registries that skills are searched in and installed from: ClawHub, and indexes in the form of agentskills.io.

Nothing is asked before a person searches or installs. What a registry says of a skill is somebody else's text: it is
cut, freed of letters that cannot be seen, and shown as text alone.

https://github.com/openclaw/clawhub/blob/main/docs/http-api.md,
https://github.com/cloudflare/agent-skills-discovery-rfc
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urljoin

import msgspec
from msgspec import Struct, field

from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.security.egress import Egress, Fetched
from hub.skills.archive import ARCHIVE_LIMIT_BYTES
from hub.skills.schema import CLAWHUB

FOUND_LIMIT = 20
"""Skills that are shown of one registry, unless a number is asked for."""
SEARCH_LIMIT_S = 20.0
FETCH_LIMIT_S = 60.0
NAME_SHOWN = 80
TEXT_SHOWN = 300
INDEX_PATH = "/.well-known/agent-skills/index.json"
INDEX_FORM = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
T = TypeVar("T")
KINDS_OF_ARTIFACTS = ("skill-md", "archive")

_REF = re.compile(
    r"(?P<registry>[a-z][a-z0-9_-]{0,63}):@?(?:(?P<owner>[A-Za-z0-9][\w-]{0,63})/)?"
    r"(?P<name>[A-Za-z0-9][\w.-]{0,99})(?:@(?P<version>[\w.+-]{1,64}))?"
)


class ListedSkill(Struct, frozen=True):
    """A skill as a registry describes it; its texts are cut.

    Attributes:
        ref: What it is installed by.
        url: Its page, for people; empty where there is none.
        downloads: None where the registry does not count them.
    """

    ref: str
    name: str
    description: str
    registry: str
    owner: str = ""
    version: str = ""
    downloads: int | None = None
    url: str = ""


class SearchResult(Struct, frozen=True):
    """The skills that were found, and the registries that could not be asked, with the reason."""

    found: tuple[ListedSkill, ...]
    failed: Mapping[str, str]


class RegistryArtifact(Struct, frozen=True):
    """A skill that was fetched.

    Attributes:
        data: An archive or a SKILL.md.
        name: Its name, if the SKILL.md states none.
        path: Its folder in the archive, where the registry names it.
        origin: Its origin, as it is kept.
    """

    data: bytes
    name: str
    origin: Mapping[str, str]
    path: str | None = None


class SkillRegistries:
    """Searches in the configured registries, and fetches skills from them.

    Args:
        egress: Asks them.
        settings: Returns the validated registries by name.
    """

    def __init__(self, egress: Egress, settings: Callable[[], Mapping[str, Mapping[str, str]]]) -> None:
        self._egress = egress
        self._settings = settings

    async def search(self, words: str, registry: str | None = None, limit: int | None = None) -> SearchResult:
        """Ask the registries for skills.

        Args:
            words: What they are asked for.
            registry: Only this one.
            limit: At most so many of all together.

        Raises:
            NotFound: There is no such registry, or none at all.
        """
        chosen = dict(self._settings()) if registry is None else {registry: self._registry(registry)}
        if not chosen:
            raise NotFound("no registry is configured; name one in skills: registries:")
        answers = await asyncio.gather(
            *(self._search(name, each, words, limit or FOUND_LIMIT) for name, each in chosen.items())
        )
        found: list[ListedSkill] = []
        failed: dict[str, str] = {}
        for name, answer in zip(chosen, answers, strict=True):
            if isinstance(answer, HubError):
                failed[name] = answer.message
            else:
                found += answer
        return SearchResult(tuple(found[:limit]), failed)

    async def fetch(self, ref: str) -> RegistryArtifact:
        """Fetch a skill.

        Args:
            ref: `REGISTRY:[OWNER/]NAME[@VERSION]`.

        Raises:
            InvalidRequest: That is no reference, or the registry does not give the skill out.
            NotFound: There is no such registry or skill.
            Unavailable: The registry cannot be asked now.
        """
        match = _REF.fullmatch(ref)
        if match is None:
            raise InvalidRequest(
                f"{ref[:200]!r} is not a skill of a registry; expected clawhub:NAME or clawhub:OWNER/NAME"
            )
        registry = self._registry(match["registry"])
        fetch = self._from_clawhub if registry["kind"] == CLAWHUB else self._from_index
        return await fetch(registry["url"], match)

    def _registry(self, name: str) -> Mapping[str, str]:
        registries = self._settings()
        if name not in registries:
            known = ", ".join(sorted(registries)) or "none"
            raise NotFound(f"there is no registry {name[:64]!r} in skills: registries: (there: {known})")
        return registries[name]

    async def _search(
        self, name: str, registry: Mapping[str, str], words: str, limit: int
    ) -> list[ListedSkill] | HubError:
        search = self._in_clawhub if registry["kind"] == CLAWHUB else self._in_index
        try:
            return await search(name, registry["url"], words, limit)
        except HubError as error:
            return error

    async def _in_clawhub(self, registry: str, url: str, words: str, limit: int) -> list[ListedSkill]:
        query = urlencode({"q": words, "limit": limit, "nonSuspiciousOnly": "true"})
        answer = await self._get(f"{url}/api/v1/search?{query}")
        results = _decoded(answer, _ClawHubSearch).results[:limit]
        return [skill for each in results if (skill := _of_clawhub(registry, url, each)) is not None]

    async def _in_index(self, registry: str, url: str, words: str, limit: int) -> list[ListedSkill]:
        asked = words.casefold().split()
        found = []
        for each in (await self._index(url))[1]:
            text = f"{each.name} {each.description}".casefold()
            ref = f"{registry}:{each.name}"
            if all(word in text for word in asked) and _REF.fullmatch(ref):
                found.append(ListedSkill(ref, each.name, _shown(each.description, TEXT_SHOWN), registry))
        return found[:limit]

    async def _from_clawhub(self, url: str, ref: re.Match[str]) -> RegistryArtifact:
        asked = {"slug": ref["name"], "version": ref["version"], "ownerHandle": ref["owner"]}
        query = urlencode({key: value for key, value in asked.items() if value})
        answer = await self._get(f"{url}/api/v1/download?{query}", ARCHIVE_LIMIT_BYTES)
        origin = {"kind": "registry", "source": ref[0]}
        if "json" not in answer.headers.get("content-type", ""):
            return RegistryArtifact(answer.body, ref["name"], origin)
        # A skill that its author keeps at GitHub: the registry says at which commit it was looked at.
        handoff = _decoded(answer, _Handoff)
        archive = await self._get(handoff.archive_url, ARCHIVE_LIMIT_BYTES)
        origin |= {"commit": _shown(handoff.commit, NAME_SHOWN)}
        return RegistryArtifact(archive.body, ref["name"], origin, handoff.path.strip("/") or None)

    async def _from_index(self, url: str, ref: re.Match[str]) -> RegistryArtifact:
        if ref["version"] or ref["owner"]:
            raise InvalidRequest(f"{ref['registry']} lists skills by their names alone; ask for {ref['registry']}:NAME")
        base, entries = await self._index(url)
        entry = next((each for each in entries if each.name == ref["name"]), None)
        if entry is None:
            raise NotFound(f"{ref['registry']} lists no skill {ref['name']}")
        answer = await self._get(urljoin(base, entry.url), ARCHIVE_LIMIT_BYTES)
        if f"sha256:{sha256(answer.body).hexdigest()}" != entry.digest:
            raise InvalidRequest(
                f"what {ref['registry']} gives out as {ref['name']} does not have the digest of its index"
            )
        return RegistryArtifact(answer.body, ref["name"], {"kind": "registry", "source": ref[0]})

    async def _index(self, url: str) -> tuple[str, list[_IndexEntry]]:
        """Return the address of an index, and its entries that can be read."""
        answer = await self._get(f"{url}{INDEX_PATH}")
        index = _decoded(answer, _Index)
        if index.form != INDEX_FORM:
            raise InvalidRequest(f"the index of {url} is of another form than {INDEX_FORM}")
        return answer.url, list(_entries(index))

    async def _get(self, url: str, limit_bytes: int | None = None) -> Fetched:
        limits: dict[str, Any] = {"timeout_s": SEARCH_LIMIT_S}
        if limit_bytes is not None:
            limits = {"limit_bytes": limit_bytes, "timeout_s": FETCH_LIMIT_S}
        answer = await self._egress.fetch(url, **limits)
        if answer.status == 200:
            return answer
        raise _refused(url, answer)


class _ClawHubSkill(Struct):
    slug: str | None = None
    owner_handle: str | None = field(default=None, name="ownerHandle")
    name: str | None = field(default=None, name="displayName")
    summary: str | None = None
    version: str | None = None
    downloads: float | None = None


class _ClawHubSearch(Struct):
    results: list[_ClawHubSkill]


class _Handoff(Struct):
    archive_url: str = field(name="archiveUrl")
    commit: str
    path: str


class _Match(Struct):
    slug: str
    owner_handle: str = field(name="ownerHandle")


class _Ambiguous(Struct):
    matches: list[_Match]


class _Index(Struct):
    form: str = field(default="", name="$schema")
    skills: list[dict[str, Any]] = field(default_factory=list)


class _IndexEntry(Struct):
    name: str
    type: str
    description: str
    url: str
    digest: str


def _decoded(answer: Fetched, type: type[T]) -> T:
    try:
        return msgspec.json.decode(answer.body, type=type)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{answer.url} does not answer like such a registry: {error}", outside=True) from error


def _entries(index: _Index) -> Iterator[_IndexEntry]:
    """Yield the entries; those of kinds that are not known, and those that are not whole, are left out."""
    for each in index.skills:
        try:
            entry = msgspec.convert(each, _IndexEntry)
        except msgspec.ValidationError:
            continue
        if entry.type in KINDS_OF_ARTIFACTS:
            yield entry


def _of_clawhub(registry: str, url: str, skill: _ClawHubSkill) -> ListedSkill | None:
    """Return a skill of ClawHub; None if it cannot be installed by what it is called."""
    owner, slug = skill.owner_handle or "", skill.slug or ""
    ref = f"{registry}:{owner}/{slug}" if owner else f"{registry}:{slug}"
    if not _REF.fullmatch(ref):
        return None
    return ListedSkill(
        ref,
        _shown(skill.name or slug, NAME_SHOWN),
        _shown(skill.summary or "", TEXT_SHOWN),
        registry,
        owner,
        _shown(skill.version or "", NAME_SHOWN),
        None if skill.downloads is None else int(skill.downloads),
        f"{url}/{quote(owner)}/skills/{quote(slug)}" if owner else "",
    )


def _refused(url: str, answer: Fetched) -> HubError:
    host = url.split("/")[2]
    if answer.status == 429:
        pause = answer.headers.get("retry-after") or answer.headers.get("ratelimit-reset") or ""
        wait_s = float(pause) if pause.isdecimal() and len(pause) < 6 else 60.0
        return Unavailable(f"{host} was asked too often; try again in {wait_s:g} s", retry_after_s=wait_s)
    if answer.status == 409:
        try:
            matches = msgspec.json.decode(answer.body, type=_Ambiguous).matches[:FOUND_LIMIT]
        except ValueError:
            matches = []
        names = ", ".join(_shown(f"{each.owner_handle}/{each.slug}", NAME_SHOWN) for each in matches)
        told = f"several people have a skill of that name at {host}; say whose: {names or 'OWNER/NAME'}"
        return InvalidRequest(told, outside=True)
    plain = answer.headers.get("content-type", "").startswith("text/plain")
    said = f": {_shown(answer.text[:1_000], TEXT_SHOWN)}" if plain else ""
    told = f"{host} answered {answer.status}{said}"
    return NotFound(told, outside=True) if answer.status == 404 else InvalidRequest(told, outside=True)


def _shown(text: str, limit: int) -> str:
    """Return somebody else's text on one line, cut, without letters that cannot be seen or turn others around."""
    plain = " ".join("".join(each if each.isprintable() else " " for each in text[: 4 * limit]).split())
    return plain if len(plain) <= limit else f"{plain[: limit - 1].rstrip()}…"
