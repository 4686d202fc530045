"""`skills.status|bins|info|search|install|update|remove`: the skills, with what the scan finds in them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.core.errors import InvalidRequest
from hub.core.schema import All, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, READ, Method, MethodCall
from hub.gateway.calls.method_table import NODE
from hub.skills.control import SkillControl, SkillLook
from hub.skills.registries import FOUND_LIMIT, ListedSkill, SkillRegistries
from hub.skills.skill import JudgedSkill, SkillSource, SkillState
from hub.skills.skill_file import FILE_NAME, Requirements, SkillFile

OWNER = "gateway"

_NAME = All(string, Length(min=1, max=1_500))
_AGENT = {Optional("agentId"): All(string, Length(min=1, max=64))}
_STATUS = Schema({**_AGENT})
_ONE = Schema({Required("name", description="Its id or its name."): _NAME, **_AGENT})
_UPDATE = Schema(
    {
        Required("skillKey", description="Its id or its name."): _NAME,
        Required("enabled"): boolean,
        Optional("digest", description="Of what was looked at, from skills.info."): All(string, Length(max=64)),
        Optional("accept", default=False, description="Enable it in spite of what the scan found."): boolean,
        **_AGENT,
    }
)
_INSTALL = Schema(
    {
        Optional("archive", description="A ZIP file in base64, or the text of a SKILL.md in it."): string,
        Optional("url", description="Of an archive or a SKILL.md."): All(string, Length(min=1, max=8_192)),
        Optional("ref", description="REGISTRY:[OWNER/]NAME[@VERSION], as skills.search has it."): All(
            string, Length(min=1, max=300)
        ),
        Optional("path", description="The folder, when it holds several skills."): All(string, Length(max=500)),
        Optional("replace", default=False): boolean,
        Optional("origin", default=dict, description="Where the archive came from."): dict,
        **_AGENT,
    }
)
_SEARCH = Schema(
    {
        Required("query", description="Words that are sent to the registries."): All(string, Length(min=1, max=200)),
        Optional("registry", description="Only this one."): All(string, Length(min=1, max=64)),
        Optional("limit", description=f"At most so many; without it, {FOUND_LIMIT} of each registry."): All(
            integer, Range(min=1, max=100)
        ),
    }
)
_ORIGIN_KEYS = ("kind", "source", "commit")


class SkillMethods:
    """The methods about skills.

    Args:
        control: Lists and changes them.
        registries: Searched, and installed from.
        agents: The agents.
        home: The directory that skills are installed in.
    """

    def __init__(self, control: SkillControl, registries: SkillRegistries, agents: Agents, home: str) -> None:
        self._control = control
        self._registries = registries
        self._agents = agents
        self._home = home

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("skills.status", self._status, OWNER, _STATUS, READ),
            Method("skills.bins", self._bins, OWNER, Schema({}), NODE),
            Method("skills.info", self._info, OWNER, _ONE, READ),
            Method("skills.search", self._search, OWNER, _SEARCH, ADMIN),
            Method("skills.install", self._install, OWNER, _INSTALL, ADMIN, acts=True, frame_limit=LARGE_FRAME_BYTES),
            Method("skills.update", self._update, OWNER, _UPDATE, ADMIN, acts=True),
            Method("skills.remove", self._remove, OWNER, _ONE, ADMIN, acts=True),
        ]

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        agent_id = self._agent(call)
        agent = self._agents.get(agent_id)
        judged = await self._control.list(agent_id)
        return {
            "agentId": agent_id,
            "workspaceDir": str(agent.workspace),
            "managedSkillsDir": self._home,
            "skills": [_shown(each, agent.skills) for each in judged],
        }

    async def _bins(self, call: MethodCall) -> Mapping[str, Any]:
        judged = await self._control.list(self._agent(call))
        files = [each.skill.file for each in judged if each.skill.file is not None]
        return {"bins": sorted({name for file in files for name in (*file.requires.bins, *file.requires.any_bins)})}

    async def _info(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._looked_at(call.params["name"], self._agent(call))

    async def _search(self, call: MethodCall) -> Mapping[str, Any]:
        given = call.params
        result = await self._registries.search(given["query"], given.get("registry"), given.get("limit"))
        return {
            "results": [_found(each, place) for place, each in enumerate(result.found)],
            "failed": dict(result.failed),
        }

    async def _install(self, call: MethodCall) -> Mapping[str, Any]:
        given = call.params
        if sum(name in given for name in ("archive", "url", "ref")) != 1:
            raise InvalidRequest("skills.install takes one of archive, url and ref")
        options = {"path": given.get("path"), "overwrite": given["replace"]}
        if "url" in given:
            id = await self._control.install_url(given["url"], **options)
        elif "ref" in given:
            fetched = await self._registries.fetch(given["ref"])
            options["path"] = options["path"] or fetched.path
            id = await self._control.install(fetched.data, fetched.origin, name=fetched.name, **options)
        else:
            try:
                data = base64.b64decode(given["archive"], validate=True)
            except (binascii.Error, ValueError) as error:
                raise InvalidRequest(f"archive is not base64: {error}") from error
            origin = {key: str(given["origin"][key])[:1_000] for key in _ORIGIN_KEYS if key in given["origin"]}
            id = await self._control.install(data, origin or {"kind": "zip"}, **options)
        return await self._looked_at(id, self._agent(call))

    async def _update(self, call: MethodCall) -> Mapping[str, Any]:
        given, agent_id = call.params, self._agent(call)
        if given["enabled"]:
            judged = await self._control.enable(
                given["skillKey"], agent_id, given.get("digest"), accept=given["accept"]
            )
        else:
            judged = await self._control.disable(given["skillKey"], agent_id)
        return {"ok": True, "skillKey": given["skillKey"], "skill": _shown(judged, self._agents.get(agent_id).skills)}

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        return {"ok": True, "id": await self._control.remove(call.params["name"], self._agent(call))}

    async def _looked_at(self, name: str, agent_id: str) -> Mapping[str, Any]:
        look = await self._control.look(name, agent_id)
        return {"skill": _shown(look.judged, self._agents.get(agent_id).skills), **_look(look)}

    def _agent(self, call: MethodCall) -> str:
        return self._agents.get(call.params["agentId"]).id if "agentId" in call.params else self._agents.default().id


def _look(look: SkillLook) -> dict[str, Any]:
    return {
        "digest": look.digest,
        "text": look.text,
        "files": [{"path": path, "bytes": size} for path, size in look.files.items()],
        "findings": [
            {
                "severity": each.severity.value,
                "rule": each.rule,
                "message": each.message,
                "path": each.path,
                "line": each.line,
            }
            for each in look.findings
        ],
    }


def _found(skill: ListedSkill, place: int) -> dict[str, Any]:
    """Return a found skill as OpenClaw's clients take it, with its page and what it was asked for."""
    shape: dict[str, Any] = {"score": 1 / (place + 1), "slug": re.split("[:/]", skill.ref)[-1], "installRef": skill.ref}
    shape |= {"displayName": skill.name or skill.ref, "summary": skill.description, "registry": skill.registry}
    more = {"version": skill.version, "owner": skill.owner, "url": skill.url, "downloads": skill.downloads}
    return shape | {name: value for name, value in more.items() if value not in ("", None)}


def _shown(judged: JudgedSkill, allowed: tuple[str, ...] | None) -> dict[str, Any]:
    """Return a skill in OpenClaw's shape, with its id, state and reason."""
    skill = judged.skill
    file = skill.file or SkillFile(skill.name, "", skill.name)
    blocked = allowed is not None and skill.name not in allowed
    usable = judged.ready and not blocked
    return {
        "id": skill.id,
        "name": skill.name,
        "description": file.description,
        "state": judged.state.value,
        "reason": judged.reason,
        "source": skill.source.value,
        "bundled": skill.source is SkillSource.BUNDLED,
        "filePath": str(skill.folder / FILE_NAME),
        "baseDir": str(skill.folder),
        "skillKey": file.key,
        "emoji": file.emoji,
        "homepage": file.homepage,
        "version": file.version,
        "license": file.license,
        "compatibility": file.compatibility,
        "always": file.always,
        "disabled": judged.state is SkillState.DISABLED,
        "blockedByAllowlist": False,
        "blockedByAgentFilter": blocked,
        "eligible": usable,
        "platformIncompatible": bool(judged.lacking.os),
        "modelVisible": usable and file.model_invocable,
        "userInvocable": file.user_invocable,
        "commandVisible": usable and file.user_invocable,
        "requirements": _needs(file.requires),
        "missing": _needs(judged.lacking),
        "configChecks": [{"path": key, "satisfied": key not in judged.lacking.config} for key in file.requires.config],
        "install": [dict(each) for each in file.installs],
        "origin": dict(skill.pin.origin),
        "enabledAtMs": skill.pin.at_ms,
    }


def _needs(requires: Requirements) -> dict[str, list[str]]:
    return {
        "bins": list(requires.bins),
        "anyBins": list(requires.any_bins),
        "env": list(requires.env),
        "config": list(requires.config),
        "os": list(requires.os),
    }
