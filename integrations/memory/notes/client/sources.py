"""The configured sources of search: workspaces, further paths, and optionally conversations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.agents import Agents
from hub.core.context import Authority
from hub.core.secret import Secret
from hub.integration.catalog import engines
from hub.memory.places import PRIVATE_AREA, areas_of
from hub.memory.schema import OWN_ENGINES, VENDORS, engine_names
from hub.memory.scope import MemoryScope
from hub.models.provider_config import ProviderConfig
from hub.models.vendors import LITELLM_API
from hub.security.people import People
from hub.sessions.privacy import scope_of
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.storage.homedir import Home
from integrations.memory.notes.files.omissions import Omissions
from integrations.memory.notes.job import EXTRA_PREFIX, TRANSCRIPTS, WORKSPACE, Job, Source, TranscriptSource

KEYED = ("openai", *VENDORS)
"""Providers of embeddings whose keys may be known from elsewhere, besides the vendor of a model `vendor/model`."""
AUTO = OWN_ENGINES["embeddings"][0]
TRANSCRIPTS_LIMIT = 2_000
"""Conversations that are searched, those that were used last."""

_NOT_PLAIN = re.compile(r"[^a-z0-9_-]+")


class JobSources(Struct, frozen=True):
    """The inputs of jobs; the callables return the present configuration.

    Attributes:
        home: The home directory.
        agents: The agents with their workspaces.
        sessions: The conversations.
        people: The people of this home.
        section: The section `memory`.
        providers: The providers of models that are known, by name.
        environment: The environment variables with further keys.
        omissions: The parts left out of conversations.
        engine_settings: The section of an integration that brings an engine.
    """

    home: Home
    agents: Agents
    sessions: SessionStore
    people: Callable[[], People]
    section: Callable[[], Mapping[str, Any]]
    providers: Callable[[], Mapping[str, ProviderConfig]]
    environment: Mapping[str, str]
    omissions: Omissions
    engine_settings: Callable[[str], Mapping[str, Any]] = lambda domain: {}


def job_for(ground: JobSources, agent_id: str) -> Job:
    """Return the present job of an agent's memory.

    Raises:
        NotFound: There is no such agent.
    """
    section = ground.section()
    workspace = ground.agents.get(agent_id).workspace
    sources = [Source(WORKSPACE, str(workspace)), *extra_sources(ground.home.path, section["extra_paths"])]
    if section["transcripts"]:
        sources.append(_searched(conversations(ground, agent_id)))
    settings: dict[str, Any] = _plain({key: section[key] for key in _SETTINGS})
    settings["embeddings"] |= keys_elsewhere(ground)
    settings["engines"] = _engines(section, ground)
    return Job(agent_id, str(index_directory(ground.home, agent_id)), tuple(sources), settings)


_SETTINGS = ("embeddings", "vectors", "keywords", "chunks", "search")


def _engines(section: Mapping[str, Any], ground: JobSources) -> dict[str, Any]:
    """Return the configured engines of other integrations: their modules and settings."""
    found: dict[str, Any] = {}
    names = [*engine_names(section).items()]
    if section["embeddings"]["provider"] == AUTO:  # which may choose a vendor
        names.append(("embeddings", LITELLM_API))
    for what, name in names:
        if name not in OWN_ENGINES[what] and (entry := engines(what, ground.home.path).get(name)) is not None:
            found[name] = {
                "module": f"{entry.package}.engine",
                **({"folder": str(entry.path), "changed": _changed(entry.path)} if entry.custom else {}),
                "settings": _plain(ground.engine_settings(name)),
            }
    return found


def _changed(folder: Path) -> list[list[Any]]:
    """Return a value that changes with the code in a folder."""
    facts = ((str(file.relative_to(folder)), file.stat()) for file in sorted(folder.rglob("*.py")))
    return [[name, stat.st_mtime_ns, stat.st_size] for name, stat in facts]


def index_directory(home: Home, agent_id: str) -> Path:
    """Return the directory of an agent's index, which can always be deleted."""
    return cache_directory(home) / agent_id


def cache_directory(home: Home) -> Path:
    """Return the directory of indexes and paid vectors."""
    return home.storage / "memory"


def extra_sources(home: Path, configured: Iterable[str | Mapping[str, Any]]) -> list[Source]:
    """Return the further paths, each under its own name; relative ones are below the home directory."""
    found: list[Source] = []
    for each in configured:
        given = {"path": each} if isinstance(each, str) else dict(each)
        path = (home / Path(given["path"]).expanduser()).absolute()
        wanted = _NOT_PLAIN.sub("-", str(given.get("name") or path.stem).lower()).strip("-") or "notes"
        taken = {source.name for source in found}
        name, number = f"{EXTRA_PREFIX}{wanted}", 2
        while name in taken:
            name, number = f"{EXTRA_PREFIX}{wanted}-{number}", number + 1
        area = str(given.get("area", PRIVATE_AREA))
        found.append(Source(name, str(path), area, trusted=bool(given.get("trusted", False))))
    return found


def keys_elsewhere(ground: JobSources) -> dict[str, Any]:
    """Return keys and addresses of embedding providers from the model settings and the environment."""
    keys, urls = {}, {}
    providers = ground.providers()
    vendor, slash, _ = str(ground.section()["embeddings"].get("model") or "").partition("/")
    for name in (*KEYED, *([vendor] if slash else [])):
        provider = providers.get(name)
        key = provider.api_key.reveal() if provider is not None and provider.api_key is not None else ""
        if key := key or ground.environment.get(f"{name.upper()}_API_KEY", ""):
            keys[name] = key
            if provider is not None and provider.base_url:
                urls[name] = provider.base_url
    return {"keys": keys, "urls": urls}


def conversations(ground: JobSources, agent_id: str) -> Source:
    """Return all remembered conversations, most recently used first; those of nobody have the area ""."""
    files = []
    left_out = ground.omissions.of(agent_id)
    for session in sorted(ground.sessions.list(agent_id), key=lambda each: each.updated_ms, reverse=True):
        if (entries := left_out.of(session.session_id)) is None:
            continue
        scope = _scope(session, ground.people())
        area = next(iter(areas_of(scope)), "")
        name = f"{session.session_id}.jsonl"
        file = TranscriptSource(
            session.session_id, name, area, scope.person, key=session.key, left_out=tuple(sorted(entries))
        )
        files.append(file)
    return Source(TRANSCRIPTS, str(ground.home.sessions(agent_id)), files=tuple(files))


def _searched(source: Source) -> Source:
    """Return the searched conversations, in an order that does not change with each message.

    The worker learns of every change.
    """
    files = [each for each in source.files if each.area][:TRANSCRIPTS_LIMIT]
    return replace(source, files=tuple(sorted(files, key=lambda each: each.id)))


def _scope(session: Session, people: People) -> MemoryScope:
    """Return the owner of a conversation, by its session; nobody if unknown."""
    person = people.by_id(session.person) if session.person is not None else None
    owner = person is not None and person.owner
    authority = Authority("index", person=person.id if person is not None else None, owner=owner)
    return scope_of(session.key, authority, people)


def _plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
