"""The real hub in the process of a test, without what the test does not need."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hub.core.clock import Clock
from hub.core.component import Component, stages_of
from hub.core.stages import Stage
from hub.gateway.access.devices import Devices
from hub.gateway.component.access import AccessComponent
from hub.gateway.log_tail import LogTail
from hub.hub import Hub
from hub.security.hub_token import hub_token
from hub.security.people import People
from hub.security.redaction import Redactor
from hub.security.tokens import TokenStore
from hub.storage.homedir import Home, WorkerPlace
from tests.databases import storage_section

Part = TypeVar("Part", bound=Component)


def scripted_model(base_url: str) -> dict[str, Any]:
    """Return a `models:` section whose default is a model on a scripted server."""
    provider = {"api": "openai", "base_url": base_url}
    return {"default": "test/model", "providers": {"test": provider}}


class HubFixture(Hub):
    """A hub over a scripted model server, in a home of its own.

    Args:
        folder: Its home directory, which may be that of an earlier one.
        base_url: Of the model server.
        sections: Sections of the configuration; `models` replaces the scripted one.
        files: Texts of files in the home directory; `configuration.yaml` goes before the sections.
        integrations: Those that may be set up; the hub finds no others.
        without: Names of components, and of stages, that are not started; without `approvals`, what needs one is
            refused.
        only: Names of the stages that are started, where nearly all are left out.
        clock: A real one without it.
        in_worker: Its home's place in a worker.
    """

    def __init__(
        self,
        folder: Path,
        base_url: str,
        *,
        sections: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None,
        integrations: Collection[str] = ("openai_compatible", "webchat"),
        without: Collection[str] = (),
        only: Collection[str] | None = None,
        clock: Clock | None = None,
        in_worker: WorkerPlace | None = None,
    ) -> None:
        home = Home(folder, in_worker)
        home.create()
        texts = {"configuration.yaml": "", **(files or {})}
        given = {"models": scripted_model(base_url), **(sections or {})}
        if (storage := storage_section(home.hub_db)) and (only is None or "hub database" in only):
            given.setdefault("storage", storage)
        for name, value in given.items():
            texts["configuration.yaml"] += f"{name}: {json.dumps(value)}\n"  # JSON is YAML
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        redactor = Redactor()
        self.log = LogTail(redactor)
        super().__init__(home, redactor=redactor, port=0, clock=clock, log=self.log)
        found = self.integrations.catalog
        self.integrations.use({domain: found[domain] for domain in integrations})
        stages = {each.name for each in stages_of(self.components)}
        self._without = frozenset(without if only is None else {*without, *stages} - {*only})
        unknown = {*without, *(only or ())} - {each.name for each in self.components} - stages
        assert not unknown, f"the hub has no components or stages {unknown}"
        self.components = tuple(each for each in self.components if self._has(each))
        if "approvals" in self._without:
            self.tools.ask = self.services.ask = None

    def _has(self, component: Component) -> bool:
        stages = {each.name for each in component.stages()}
        return component.name not in self._without and not (stages and stages <= self._without)

    def stages(self) -> list[Stage]:
        """Return the stages that are not left out."""
        return [each for each in super().stages() if each.name not in self._without]

    async def __aenter__(self) -> HubFixture:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.runner.parts.tasks.cancel_all()  # a stop would wait for runs that a test holds up
        await self.stop()

    def component(self, kind: type[Part]) -> Part:
        """Return the component of a class."""
        return next(each for each in self.components if isinstance(each, kind))

    @property
    def people(self) -> People:
        """The people of this home; a test may give it others."""
        return self._security.people

    @people.setter
    def people(self, people: People) -> None:
        self._security.people = people

    @property
    def tokens(self) -> TokenStore:
        """The tokens of its clients."""
        return self.component(AccessComponent).tokens

    @property
    def devices(self) -> Devices:
        """The devices that may connect."""
        return self.component(AccessComponent).devices

    @property
    def token(self) -> str:
        """The hub token."""
        return hub_token(self.home).reveal()

    @property
    def url(self) -> str:
        """Where it answers."""
        return self.gateway.url

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return self.gateway.address[1]

    @property
    def bearer(self) -> dict[str, str]:
        """The header with which its owner asks."""
        return {"Authorization": f"Bearer {self.token}"}
