"""The plan of moving in from an OpenClaw: models, channels, agents, their workspaces, skills and scheduled jobs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hub.agent.agents import IMPLICIT_ID
from hub.agent.workspace.workspace import SEEDED, template
from hub.config.sections import Sections
from hub.core.errors import HubError
from hub.core.phrases import Phrase, phrase
from hub.core.secret import Secret
from hub.core.slugs import slugify
from hub.migrate.conversations import add_conversations
from hub.migrate.draft import Draft
from hub.migrate.openclaw.their_sessions import their_conversations
from hub.migrate.openclaw.their_state import DATABASE_LIMIT_BYTES, TheirState
from hub.migrate.plan import Move, MoveItem, Verdict, said
from hub.models.vendors import VENDORS

SOURCE = "openclaw"
TEXT_LIMIT_BYTES = 1_000_000
SKILL_FILES_LIMIT = 300
PROMPTS = (*SEEDED, "MEMORY.md")
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_TOKENS: Mapping[str, Mapping[str, str]] = {
    "telegram": {"botToken": "token"},
    "discord": {"token": "token"},
    "slack": {"botToken": "bot_token", "appToken": "app_token"},
}
"""Channels that come with nothing but their tokens: our key for each of theirs."""
_SENDERS = {
    "telegram": re.compile(r"(?:(?:telegram|tg):(?:user:)?)?(\d{1,20})"),
    "discord": re.compile(r"(?:(?:discord|user):(?:user:)?)?(\d{5,20})"),
    "slack": re.compile(r"(?:(?:slack|user):(?:user:)?)?([UW][A-Z0-9]{2,20})"),
}
_ALIKE = "dingtalk feishu imessage irc email line matrix mattermost msteams ntfy qq signal wecom zalo"
_LINKED = {each: each for each in _ALIKE.split()} | {"whatsapp": "whatsapp_web", "bluebubbles": "imessage"}
_LINKED |= {"googlechat": "google_chat", "nextcloud-talk": "nextcloud_talk", "qqbot": "qq"}
_VENDOR_NAMES = {"google": "gemini", "google-gemini": "gemini", "x-ai": "xai", "z.ai": "zai"}
_DM_POLICIES = frozenset({"pairing", "allowlist", "disabled"})
_HEARTBEAT = phrase("a heartbeat is an automation here, made of the blueprint Heartbeat")
_OWN_JOB = phrase("OpenClaw made it for itself; memory and skills are looked after here by the hub")
_NOT_SECRET = phrase("its key does not come along; write it, or bring secrets: --secrets")


def plan_openclaw(
    folder: Path, home: Path, sections: Sections, *, secrets: bool, switched_off: bool, stage: Path | None
) -> Move:
    """Return the plan of bringing an OpenClaw's state into a home; nothing of the home is written.

    Args:
        folder: `~/.openclaw`, or a copy.
        home: The home directory.
        sections: Of the home's configuration.
        secrets: Whether keys and tokens come along.
        switched_off: Whether scheduled jobs come switched off.
        stage: A folder for the messages of conversations; None to count them only.

    Raises:
        NotFound: There is no such folder.
        InvalidRequest: It is not the folder of an OpenClaw, or the home's configuration cannot be added to.
    """
    theirs = TheirState(folder)
    return _Moving(theirs, Draft(home, sections, SOURCE), secrets, switched_off).plan(str(folder), stage)


class _Moving:
    def __init__(self, theirs: TheirState, draft: Draft, secrets: bool, switched_off: bool) -> None:
        self._theirs = theirs
        self._draft = draft
        self._secrets = secrets
        self._off = switched_off
        self._agents: set[str] = set()
        self._channels: set[str] = set()

    def plan(self, path: str, stage: Path | None) -> Move:
        self.move = move = Move(SOURCE, path)
        self._models()
        self._channels_and_people()
        agents = self._agents_and_workspaces()
        self._bindings()
        self._skills(agents)
        self._jobs()
        self._others()
        move.changes, errors = self._draft.changes()
        move.errors = [str(each) for each in errors]
        add_conversations(move, their_conversations(self._theirs, frozenset(self._agents)), stage)
        for name in sorted(self._theirs.too_large):
            told = phrase("{name} holds more than {count} MB", name=name, count=DATABASE_LIMIT_BYTES // 1024 // 1024)
            move.add(MoveItem("file", name, Verdict.REFUSED, (told,), name))
        if self._channels:
            told = phrase("A bot answers in one program at a time: stop OpenClaw before you bring its channels over.")
            move.notes.append(told)
        for name in sorted(self._theirs.unset):
            move.notes.append(
                phrase("The variable {name} is not set in its files, so what needs it is left.", name=name)
            )
        return move

    # -- models -------------------------------------------------------------------------------------------------------

    def _models(self) -> None:
        present = (self._draft.raw.get("models") or {}).get("providers") or {}
        section: dict[str, Any] = {}
        keys = dict(self._keys())
        custom = self._theirs.mapping("models", "providers")
        for theirs in [*keys, *(each for each in custom if each not in keys)]:
            name = _VENDOR_NAMES.get(theirs, theirs)
            config = custom.get(theirs)
            config = config if isinstance(config, dict) else {}
            if name in present or name in section:
                self.move.add(MoveItem("provider", name, Verdict.THERE))
                continue
            if not _SLUG.fullmatch(name) or (name not in VENDORS and not config.get("baseUrl")):
                why = phrase("there is no provider of this name here; add it on the page Models with its address")
                self.move.add(MoveItem("provider", theirs, Verdict.LEFT, (why,), "openclaw.json"))
                continue
            made: dict[str, Any] = {}
            if config.get("baseUrl"):
                made["base_url"] = str(config["baseUrl"])
                if name not in VENDORS:
                    made["api"] = "anthropic" if str(config.get("api", "")).startswith("anthropic") else "openai"
                    models = [each for each in config.get("models") or () if isinstance(each, dict) and each.get("id")]
                    made["models"] = [_model(each) for each in models]
            key = keys.get(theirs) or self._key_of(config.get("apiKey"))
            reasons: tuple[Phrase, ...] = ()
            if key:
                if self._comes(f"{slugify(name)}_key", key):
                    made["api_key"] = Secret("", f"!secret {slugify(name)}_key")
                else:
                    reasons = (_NOT_SECRET,)
            section[name] = made
            self.move.add(
                MoveItem("provider", name, Verdict.WAITS if reasons else Verdict.TAKEN, reasons, to="models.providers")
            )
        if section:
            self._draft.section("models").entry("providers", section)
        self._defaults({*present, *section})

    def _defaults(self, providers: set[str]) -> None:
        self._providers = providers
        model = self._theirs.at("agents", "defaults", "model")
        primary = model if isinstance(model, str) else self._theirs.at("agents", "defaults", "model", "primary")
        ours = self._draft.raw.get("models") or {}
        if isinstance(primary, str) and ours.get("default", "auto") == "auto":
            wanted = _model_ref(primary)
            if wanted.partition("/")[0] in providers:
                self._draft.set(("models", "default"), wanted)
                self.move.add(MoveItem("model", wanted, Verdict.TAKEN, to="models.default"))
            else:
                why = phrase("its provider is not here")
                self.move.add(MoveItem("model", wanted, Verdict.LEFT, (why,), "openclaw.json"))
        found = self._theirs.at("agents", "defaults", "model", "fallbacks") if isinstance(model, dict) else None
        fallbacks = [_model_ref(str(each)) for each in found] if isinstance(found, list) else []
        fallbacks = [each for each in fallbacks if each.partition("/")[0] in providers]
        if fallbacks and not ours.get("fallbacks"):
            self._draft.section("models").entry("fallbacks", fallbacks)
            self.move.add(MoveItem("model", ", ".join(fallbacks), Verdict.TAKEN, to="models.fallbacks"))

    def _keys(self) -> Iterator[tuple[str, str]]:
        """Yield the keys of providers: of its profiles, newest place first, then of its variables."""
        seen: set[str] = set()
        stores = [self._theirs.json_file(f"agents/{id}/agent/auth-profiles.json") for id in self._agent_ids()]
        rows = self._theirs.rows("select value_json from config_machine_state where state_key = 'authProfiles.store'")
        for store in [*(_json(row[0]) for row in rows), *stores]:
            profiles = store.get("profiles") if isinstance(store, dict) else None
            for profile in profiles.values() if isinstance(profiles, dict) else ():
                provider = str(profile.get("provider", "")) if isinstance(profile, dict) else ""
                if not provider or provider in seen:
                    continue
                key = self._key_of(profile.get("key") or profile.get("keyRef") or profile.get("token"))
                if profile.get("type") == "oauth" or not key:
                    why = phrase("a sign-in does not come along: homarus models auth login {name}", name=provider)
                    self.move.add(MoveItem("provider", provider, Verdict.LEFT, (why,)))
                    seen.add(provider)
                    continue
                seen.add(provider)
                yield provider, key
        for vendor in VENDORS.values():
            for variable in vendor.key_variables:
                key = self._theirs.environment.get(variable, "")
                if key and vendor.name not in {_VENDOR_NAMES.get(each, each) for each in seen}:
                    seen.add(vendor.name)
                    yield vendor.name, key

    def _key_of(self, value: Any) -> str:
        """Return a key as it is written, or that of the variable it names."""
        text = value if isinstance(value, str) else ""
        return "" if text.startswith("${") else self._theirs.environment.get(text, text)

    def _comes(self, name: str, value: str) -> bool:
        """Whether a secret comes along; adds it and its item."""
        comes = self._secrets and self._draft.secret(name, value)
        why = () if comes else (phrase("secrets come along when you say so: --secrets"),)
        verdict = Verdict.TAKEN if comes else Verdict.LEFT
        self.move.add(MoveItem("secret", name, verdict, why, to="secrets.yaml" if comes else ""))
        return comes

    # -- channels -----------------------------------------------------------------------------------------------------

    def _channels_and_people(self) -> None:
        paired = self._paired()
        for channel, config in self._theirs.mapping("channels").items():
            if not isinstance(config, dict) or channel in ("defaults", "modelByChannel"):
                continue
            keys = _TOKENS.get(channel)
            if keys is None:
                why = phrase("there is no such channel here")
                if (here := _LINKED.get(channel)) is not None:
                    why = phrase("it is linked again here: homarus channels add {name}", name=here)
                self.move.add(MoveItem("channel", channel, Verdict.LEFT, (why,), "openclaw.json"))
                continue
            if channel in self._draft.raw:
                self.move.add(MoveItem("channel", channel, Verdict.THERE))
                self._channels.add(channel)
                continue
            for name, account in _accounts(config):
                self._account(channel, name, account, keys, paired.get((channel, name), []))

    def _account(
        self, channel: str, name: str, config: Mapping[str, Any], keys: Mapping[str, str], paired: list[str]
    ) -> None:
        shown = channel if name == "default" else f"{channel} ({name})"
        tokens = {ours: self._key_of(config.get(theirs)) for theirs, ours in keys.items()}
        if not all(tokens.values()) or config.get("enabled") is False:
            why = (
                phrase("it is switched off there")
                if config.get("enabled") is False
                else phrase("its token is not in the configuration")
            )
            self.move.add(MoveItem("channel", shown, Verdict.LEFT, (why,), "openclaw.json"))
            return
        made: dict[str, Any] = {} if name == "default" else {"account": slugify(name) or "more"}
        for ours, token in tokens.items():
            secret = "_".join(part for part in (channel, "" if name == "default" else slugify(name), ours) if part)
            if not self._comes(secret, token):
                why = phrase("its token does not come along; bring secrets: --secrets")
                self.move.add(MoveItem("channel", shown, Verdict.LEFT, (why,), "openclaw.json"))
                return
            made[ours] = Secret("", f"!secret {secret}")
        if config.get("dmPolicy") in _DM_POLICIES:
            made["dm_policy"] = config["dmPolicy"]
        senders, odd = _senders(channel, [*(config.get("allowFrom") or ()), *paired])
        if senders:
            made["allow_from"] = senders
        reasons = [phrase("{sender} is no id, and is not let in", sender=each) for each in odd[:5]]
        if config.get("dmPolicy") == "open":
            reasons.append(phrase("open to everybody there; strangers get a code here until you say otherwise"))
        groups = config.get("groups")
        if channel == "telegram" and isinstance(groups, dict):
            named = {key: _group(each) for key, each in groups.items() if re.fullmatch(r"-\d{1,20}", str(key))}
            if named:
                made["groups"] = named
        self._draft.section(channel).item(made)
        self._channels.add(channel)
        self.move.add(MoveItem("channel", shown, Verdict.TAKEN, tuple(reasons), "openclaw.json", to=channel))
        for sender in senders:
            self.move.add(MoveItem("sender", f"{channel}: {sender}", Verdict.TAKEN, to=f"{channel}: allow_from"))

    def _paired(self) -> dict[tuple[str, str], list[str]]:
        """Return who was let in by pairing, by channel and account."""
        found: dict[tuple[str, str], list[str]] = {}
        for channel, account, entry in self._theirs.rows(
            "select channel_key, account_id, entry from channel_pairing_allow_entries order by sort_order"
        ):
            found.setdefault((str(channel), str(account)), []).append(str(entry))
        for name in self._theirs.files_below("credentials"):
            if match := re.fullmatch(r"credentials/([a-z]+)(?:-(.+))?-allowFrom\.json", name):
                data = self._theirs.json_file(name)
                entries = data.get("allowFrom") if isinstance(data, dict) else data
                if isinstance(entries, list):
                    found.setdefault((match[1], match[2] or "default"), []).extend(map(str, entries))
        return found

    # -- agents -------------------------------------------------------------------------------------------------------

    def _agent_ids(self) -> list[str]:
        return [id for id, _ in self._agent_entries()]

    def _agent_entries(self) -> list[tuple[str, dict[str, Any]]]:
        entries = self._theirs.mapping("agents", "entries")
        found = [(str(id), each) for id, each in entries.items() if isinstance(each, dict)]
        listed = self._theirs.at("agents", "list")
        found += [
            (str(each["id"]), each)
            for each in (listed if isinstance(listed, list) else [])
            if isinstance(each, dict) and each.get("id")
        ]
        return found if found else [("main", dict[str, Any]())]

    def _agents_and_workspaces(self) -> list[tuple[str, str, str]]:
        """Return the agents with their workspaces: the id, the folder there, the folder here."""
        present = {
            str(each.get("id")): each for each in self._draft.raw.get("agents") or () if isinstance(each, Mapping)
        }
        usual = str(self._theirs.at("agents", "defaults", "workspace") or "workspace")
        found: list[tuple[str, str, str]] = []
        for id, entry in self._agent_entries():
            if not _SLUG.fullmatch(id):
                why = phrase("its id is not one of a-z, 0-9, _ and -")
                self.move.add(MoveItem("agent", id, Verdict.REFUSED, (why,), "openclaw.json"))
                continue
            self._agents.add(id)
            here = f"workspace-{id}"
            if id in present or (id == IMPLICIT_ID and not present):
                here = self._draft.workspace(id)
                self.move.add(MoveItem("agent", id, Verdict.THERE))
            else:
                model = entry.get("model")
                wanted = _model_ref(str(model.get("primary") if isinstance(model, dict) else model or ""))
                made = _agent(id, entry)
                if not present and self._draft.section("agents").wanted is None:  # it is there without being written
                    self._draft.section("agents").item({"id": IMPLICIT_ID})
                if wanted.partition("/")[0] in self._providers:
                    made["model"] = wanted
                self._draft.section("agents").item(made)
                self.move.add(MoveItem("agent", id, Verdict.TAKEN, to="agents"))
            theirs = self._theirs.inside(str(entry.get("workspace") or usual))
            if theirs is None or not here:
                why = phrase("its workspace lies outside the folder; copy what you want of it")
                self.move.add(MoveItem("workspace", id, Verdict.LEFT, (why,), "openclaw.json"))
                continue
            found.append((id, theirs, here))
            self._workspace(id, theirs, here)
        return found

    def _workspace(self, agent: str, theirs: str, here: str) -> None:
        names = [f"{theirs}/{name}" for name in PROMPTS if self._theirs.root.is_file(f"{theirs}/{name}")]
        names += [each for each in self._theirs.files_below(f"{theirs}/memory") if each.endswith(".md")]
        for name in names:
            inner = name.removeprefix(f"{theirs}/")
            target = f"{here}/{inner}"
            try:
                data = self._theirs.root.read_bytes(name, TEXT_LIMIT_BYTES)
            except (OSError, HubError) as error:
                self.move.add(MoveItem("workspace", inner, Verdict.REFUSED, (_why(error),), name))
                continue
            present = self._draft.text_of(target)
            if present is None or present.encode() == data:
                fresh = present is None
                self._draft.file(target, data)
                self.move.add(
                    MoveItem("workspace", inner, Verdict.TAKEN if fresh else Verdict.THERE, (), name, to=target)
                )
            elif (inner in SEEDED and present.encode() == template(inner, agent)) or not present.strip():
                self._draft.replace(target, data)
                self.move.add(MoveItem("workspace", inner, Verdict.TAKEN, (), name, to=target))
            else:
                why = phrase("you have written one here; it stays")
                self.move.add(MoveItem("workspace", inner, Verdict.LEFT, (why,), name))

    def _bindings(self) -> None:
        bindings = self._theirs.at("bindings")
        present = [each for each in self._draft.raw.get("bindings") or () if isinstance(each, Mapping)]
        for each in bindings if isinstance(bindings, list) else ():
            match = each.get("match") if isinstance(each, dict) else None
            agent = str(each.get("agentId")) if isinstance(each, dict) else ""
            if not isinstance(match, dict):
                continue
            name = f"{agent}: {match.get('channel')}"
            made = {"agent": agent, "match": _match(match)}
            if made in present:
                self.move.add(MoveItem("binding", name, Verdict.THERE))
            elif agent not in self._agents or match.get("channel") not in self._channels:
                why = phrase("its agent or its channel does not come along")
                self.move.add(MoveItem("binding", name, Verdict.LEFT, (why,), "openclaw.json"))
            else:
                self._draft.section("bindings").item(made)
                self.move.add(MoveItem("binding", name, Verdict.TAKEN, to="bindings"))

    def _skills(self, agents: list[tuple[str, str, str]]) -> None:
        places = [("skills", "workspace"), *((f"{theirs}/skills", here) for _, theirs, here in agents)]
        for folder, here in places:
            names: dict[str, list[str]] = {}
            for path in self._theirs.files_below(folder):
                inner = path.removeprefix(f"{folder}/")
                if "/" in inner:
                    names.setdefault(inner.split("/")[0], []).append(path)
            for skill, paths in sorted(names.items()):
                self._skill(skill, folder, here, paths)

    def _skill(self, skill: str, folder: str, here: str, paths: list[str]) -> None:
        source = f"{folder}/{skill}"
        target = f"{here}/skills/{skill}"
        if f"{source}/SKILL.md" not in paths or len(paths) > SKILL_FILES_LIMIT:
            why = phrase("there is no SKILL.md in it, or too many files")
            self.move.add(MoveItem("skill", skill, Verdict.LEFT, (why,), source))
            return
        if self._draft.text_of(f"{target}/SKILL.md") is not None:
            self.move.add(MoveItem("skill", skill, Verdict.THERE, file=source))
            return
        read: dict[str, bytes] = {}
        try:
            for path in paths:
                read[path] = self._theirs.root.read_bytes(path, TEXT_LIMIT_BYTES)
        except (OSError, HubError) as error:
            self.move.add(MoveItem("skill", skill, Verdict.REFUSED, (_why(error),), source))
            return
        for path, data in read.items():
            self._draft.file(f"{target}/{path.removeprefix(f'{source}/')}", data)
        why = phrase("it is used when you have looked at it and enabled it")
        self.move.add(MoveItem("skill", skill, Verdict.TAKEN, (why,), source, to=target))

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def _jobs(self) -> None:
        rows = self._theirs.rows("select job_json, enabled from cron_jobs order by sort_order")
        jobs = [{**job, "enabled": bool(enabled)} for text, enabled in rows if isinstance(job := _json(text), dict)]
        old = self._theirs.json_file("cron/jobs.json")
        if isinstance(old, dict) and isinstance(old.get("jobs"), list):
            jobs += [each for each in old["jobs"] if isinstance(each, dict)]
        present = {str(each.get("id")) for each in self._draft.raw.get("automation") or () if isinstance(each, Mapping)}
        for job in jobs:
            name = " ".join(str(job.get("name") or job.get("id") or "?").split())[:100]
            id = f"openclaw_{slugify(str(job.get('id') or name))}"
            if id in present:
                self.move.add(MoveItem("job", name, Verdict.THERE))
                continue
            present.add(id)
            made = _OWN_JOB if _is_own(job) else _automation(id, name, job)
            if isinstance(made, Phrase):
                self.move.add(MoveItem("job", name, Verdict.LEFT, (made,), "cron"))
                continue
            if self._off or not job.get("enabled", True):
                made["initial_state"] = False
            self._draft.section("automation").item(made)
            self.move.add(MoveItem("job", name, Verdict.TAKEN, (), "cron", to=f"automation.{slugify(name)}"))

    def _others(self) -> None:
        if self._theirs.at("agents", "defaults", "heartbeat", "every") not in (None, "0m", "off"):
            self.move.add(MoveItem("heartbeat", "heartbeat", Verdict.LEFT, (_HEARTBEAT,), "openclaw.json"))
        mappings = self._theirs.at("hooks", "mappings")
        for each in mappings if isinstance(mappings, list) else ():
            why = phrase("a webhook is an automation here, with the trigger webhook and a secret of its own")
            name = str(each.get("id") or each.get("name") or "?") if isinstance(each, dict) else "?"
            self.move.add(MoveItem("webhook", name, Verdict.LEFT, (why,), "openclaw.json"))
        for name, platform in self._theirs.rows("select display_name, platform from device_pairing_paired"):
            why = phrase("a device is paired again, since its key belongs to the other program")
            self.move.add(MoveItem("device", str(name or platform or "?"), Verdict.LEFT, (why,), "state"))
        for key in ("plugins", "mcp", "browser", "tools", "sandbox"):
            if self._theirs.at(key):
                why = phrase("look at its page here; the words differ too much to be taken over unseen")
                self.move.add(MoveItem("section", key, Verdict.LEFT, (why,), "openclaw.json"))


def _accounts(config: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    accounts = config.get("accounts")
    base = {key: value for key, value in config.items() if key != "accounts"}
    if not isinstance(accounts, dict) or not accounts:
        yield "default", base
        return
    for name, each in accounts.items():
        if isinstance(each, dict):
            yield str(name), {**base, **each}


def _senders(channel: str, given: list[Any]) -> tuple[list[str], list[str]]:
    """Return the ids that may write, as our configuration names them, and what is no id."""
    found: list[str] = []
    odd: list[str] = []
    for each in given:
        if str(each) == "*":
            continue
        match = _SENDERS[channel].fullmatch(str(each).strip())
        sender = f"{channel}:user:{match[1]}" if match is not None else str(each)
        if sender not in (found if match is not None else odd):
            (found if match is not None else odd).append(sender)
    return found, odd


def _group(value: Any) -> dict[str, Any]:
    mention = value.get("requireMention") if isinstance(value, dict) else None
    return {"require_mention": mention} if isinstance(mention, bool) else {}


def _model_ref(text: str) -> str:
    provider, _, model = text.partition("/")
    return f"{_VENDOR_NAMES.get(provider, provider)}/{model}"


def _model(value: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"id": str(value["id"])}
    if isinstance(value.get("contextWindow"), int):
        made["context_window"] = value["contextWindow"]
    if isinstance(value.get("maxTokens"), int):
        made["max_output_tokens"] = value["maxTokens"]
    return made


def _agent(id: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    identity = entry.get("identity")
    identity = identity if isinstance(identity, dict) else {}
    made: dict[str, Any] = {"id": id}
    if name := str(identity.get("name") or entry.get("name") or "")[:100]:
        made["name"] = name
    if emoji := str(identity.get("emoji") or "")[:16]:
        made["emoji"] = emoji
    return made


def _match(match: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"channel": str(match.get("channel"))}
    if match.get("accountId") not in (None, "", "*"):
        made["account"] = str(match["accountId"])
    peer = match.get("peer")
    if isinstance(peer, dict) and peer.get("id"):
        kind = {"dm": "direct"}.get(str(peer.get("kind")), str(peer.get("kind") or "direct"))
        made["peer"] = {"kind": kind, "id": str(peer["id"])}
    for theirs, ours in (("guildId", "guild"), ("teamId", "team")):
        if match.get(theirs):
            made[ours] = str(match[theirs])
    return made


def _is_own(job: Mapping[str, Any]) -> bool:
    """Whether OpenClaw made a job for itself, to tidy up its memory and its skills."""
    return str(job.get("declarationKey") or "").startswith(("memory-core:", "skill-collection-review:"))


def _automation(id: str, name: str, job: Mapping[str, Any]) -> dict[str, Any] | Phrase:
    """Return a scheduled job as an automation, or why it is none."""
    schedule, payload = job.get("schedule"), job.get("payload")
    if not isinstance(schedule, dict) or not isinstance(payload, dict):
        return phrase("it has no schedule, or nothing to do")
    if payload.get("kind") == "heartbeat":
        return _HEARTBEAT
    trigger = _trigger(schedule)
    if isinstance(trigger, Phrase):
        return trigger
    message = payload.get("message") if payload.get("kind") == "agentTurn" else payload.get("text")
    if payload.get("kind") not in ("agentTurn", "systemEvent") or not isinstance(message, str) or not message.strip():
        return phrase("it runs a program there; write it as an automation with the tool shell")
    data: dict[str, Any] = {"message": _literal(message)}
    if job.get("agentId") and _SLUG.fullmatch(str(job["agentId"])) and job["agentId"] != "main":
        data["agent"] = str(job["agentId"])
    if job.get("sessionTarget") == "main" or payload.get("kind") == "systemEvent":
        data["session"] = "main"
    delivery = job.get("delivery")
    delivery = delivery if isinstance(delivery, dict) else {}
    if delivery.get("mode") == "announce":
        channel, to = delivery.get("channel"), delivery.get("to")
        data["announce"] = f"{channel}:{to}" if channel and channel != "last" and to else "last"
    made: dict[str, Any] = {
        "id": id,
        "alias": name,
        "triggers": [trigger],
        "actions": [{"action": "agent.run", "data": data}],
    }
    if trigger["trigger"] == "at" and job.get("deleteAfterRun", True):
        made["delete_after_run"] = True
    return made


def _trigger(schedule: Mapping[str, Any]) -> dict[str, Any] | Phrase:
    match schedule.get("kind"):
        case "cron" if isinstance(schedule.get("expr"), str):
            made: dict[str, Any] = {"trigger": "cron", "expression": schedule["expr"]}
            if isinstance(schedule.get("tz"), str) and schedule["tz"]:
                made["time_zone"] = schedule["tz"]
            return made
        case "every" if isinstance(schedule.get("everyMs"), (int, float)) and schedule["everyMs"] >= 1_000:
            return {"trigger": "every", "every": {"seconds": int(schedule["everyMs"] // 1_000)}}
        case "at":
            moment = schedule.get("at") or schedule.get("atMs")
            if isinstance(moment, (int, float)):
                moment = datetime.fromtimestamp(moment / 1_000, UTC).isoformat()
            try:
                due = datetime.fromisoformat(str(moment).replace("Z", "+00:00"))
            except ValueError:
                return phrase("its time cannot be read")
            if due.tzinfo is not None and due <= datetime.now(UTC):
                return phrase("its time has passed")
            return {"trigger": "at", "at": due.isoformat()}
    return phrase("it waits for a program there; that does not exist here")


def _literal(text: str) -> str:
    """Return a text that is no template here, since it was none there."""
    return re.sub(r"\{(?=[{%#])", "{ ", text)


def _json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def _why(error: Exception) -> Phrase:
    if isinstance(error, HubError):
        return said(error.message)
    return said(str(getattr(error, "strerror", None) or error))
