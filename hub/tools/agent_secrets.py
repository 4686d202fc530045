"""Secrets for agents: keys that a person gives to one agent, which a model uses by name and never sees.

A tool declares the arguments that may name them (`Tool.secrets`): `$NAME` there puts the value into the
environment of that one call. The arguments themselves, and all that is made of them, keep the name.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, to_builtins

from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import InvalidRequest, LimitExceeded, NotFound
from hub.core.executors import DOCUMENTS
from hub.core.schema import All, Length, Match, string
from hub.core.secret import SECRET_LENGTH_MIN, Secret
from hub.security.redaction import Redactor
from hub.storage.files import FILES, Documents
from hub.storage.versioned_file import VersionedFile
from hub.tools.approval import QUESTION, Approval, Ask
from hub.tools.contract import ToolCall
from hub.tools.questions import SECRET

FILE = "agent_secrets.json"
SECRETS_LIMIT = 500
VALUE_LIMIT = 8_000
"""Characters of a secret."""
NAME = All(
    string,
    Length(max=64),
    Match(
        r"^[A-Z][A-Z0-9_]*_(KEY|TOKEN|SECRET|PASSWORD)$",
        msg="expected capitals that end in _KEY, _TOKEN, _SECRET or _PASSWORD, such as GITHUB_TOKEN",
    ),
)
"""A name says that it is a secret: programs obey many variables, and none that ends like this changes what runs."""
NAMED = re.compile(r"\$(?:([A-Z][A-Z0-9_]*)|\{([A-Z][A-Z0-9_]*)\})")


class Holder(Struct, frozen=True):
    """The owner of a secret: a person, for one agent."""

    agent: str
    person: str


class AgentSecret(Struct, frozen=True):
    """A secret without its value."""

    holder: Holder
    name: str
    created_ms: int


class AgentSecrets:
    """Keeps the secrets in a file of the hub's, private to its user.

    Args:
        folder: The folder of the file.
        redactor: Each value is registered with it, so that no sink shows one.
        documents: Where the home keeps it.
    """

    def __init__(self, folder: Path, redactor: Redactor, clock: Clock, documents: Documents = FILES) -> None:
        self._file = VersionedFile(folder / FILE, 1, documents=documents)
        self._redactor = redactor
        self._clock = clock
        self._kept: dict[AgentSecret, Secret] = {}
        self._writing = asyncio.Lock()

    async def open(self) -> None:
        """Load the secrets.

        Raises:
            StorageError: It cannot be read.
        """
        rows = await asyncio.to_thread(self._file.read) or ()
        self._kept = {convert(row["secret"], AgentSecret): Secret(row["value"]) for row in rows}
        for value in self._kept.values():
            self._redactor.register(value)

    def all(self) -> list[AgentSecret]:
        """Return all of them, without their values."""
        return sorted(self._kept, key=lambda each: (each.holder.agent, each.holder.person, each.name))

    def has(self, holder: Holder, name: str) -> bool:
        """Whether there is one with this name."""
        return self._find(holder, name) is not None

    async def keep(self, holder: Holder, name: str, value: Secret) -> None:
        """Store a secret, replacing one of the same name; on disk when this returns.

        Raises:
            InvalidRequest: It is too short to be hidden wherever it shows up, or too long.
            LimitExceeded: There are already 500.
        """
        text = value.reveal()
        if len(text.strip()) < SECRET_LENGTH_MIN or len(text) > VALUE_LIMIT or "\0" in text:
            expected = f"expected {SECRET_LENGTH_MIN} to {VALUE_LIMIT} characters"
            raise InvalidRequest(f"the value of {name}: {expected}; a shorter one cannot be hidden in output")
        async with self._writing:
            former = self._find(holder, name)
            if former is None and len(self._kept) >= SECRETS_LIMIT:
                raise LimitExceeded(f"{SECRETS_LIMIT} secrets are kept already; remove one: homarus secrets remove")
            self._redactor.register(value)
            kept = {each: secret for each, secret in self._kept.items() if each != former}
            await self._write({**kept, AgentSecret(holder, name, int(self._clock.time() * 1000)): value})

    async def remove(self, holder: Holder, name: str) -> None:
        """Forget a secret; its value stays hidden until the hub is restarted.

        Raises:
            NotFound: There is none with this name.
        """
        async with self._writing:
            former = self._find(holder, name)
            if former is None:
                raise NotFound(f"{holder.person} has no secret {name} for the agent {holder.agent}")
            await self._write({each: secret for each, secret in self._kept.items() if each != former})

    def for_call(self, call: ToolCall, arguments: frozenset[str]) -> Mapping[str, Secret]:
        """Return the secrets of the caller that a call's arguments name."""
        person = call.context.authority.person
        if person is None or not self._kept:
            return {}
        named = {name for each in arguments for name in _names(call.arguments.get(each))}
        holder = Holder(call.agent_id, person)
        return {each.name: value for each, value in self._kept.items() if each.holder == holder and each.name in named}

    def _find(self, holder: Holder, name: str) -> AgentSecret | None:
        return next((each for each in self._kept if (each.holder, each.name) == (holder, name)), None)

    async def _write(self, kept: dict[AgentSecret, Secret]) -> None:
        rows = [{"secret": to_builtins(each), "value": value.reveal()} for each, value in kept.items()]
        await DOCUMENTS.run(self._file.write, rows)
        self._kept = kept


def holder_of(agent: str, authority: Authority) -> Holder:
    """Return the holder of an agent's secrets.

    Raises:
        InvalidRequest: It is nobody of this home.
    """
    if authority.person is None:
        raise InvalidRequest("only a person of this home can store secrets for an agent")
    return Holder(agent, authority.person)


def secret_ask(call: ToolCall, name: str, why: str, dashboard: str, timeout_s: float) -> Ask:
    """Return the question for a secret."""
    details = {"question": f"{name}: {why}", "choices": [], "agent": call.agent_id, SECRET: name, "url": dashboard}
    return Ask(
        kind=QUESTION,
        title=f"{name}: {why}",
        text="",
        details=details,
        context=call.context,
        session_key=call.session_key,
        run_id=call.run_id,
        timeout_s=timeout_s,
    )


def requested_secret(question: Approval) -> tuple[Holder, str] | None:
    """Return the holder and name of the secret that a question asks for; None if it asks for words."""
    name = question.details.get(SECRET)
    if name is None:
        return None
    return holder_of(str(question.details["agent"]), question.requested_by), str(name)


def _names(value: Any) -> Iterator[str]:
    """Yield the names that occur in an argument."""
    if isinstance(value, str):
        yield from (first or second for first, second in NAMED.findall(value))
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _names(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _names(each)
