"""The edits of the configuration that add, change or remove an agent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hub.agent.agents import Agent
from hub.config.files_editor import REMOVED
from hub.config.paths import KeyPath
from hub.core.errors import Conflict, InvalidRequest
from hub.core.phrases import phrase
from hub.core.slugs import slugify

PLAIN_KEYS = ("name", "emoji", "avatar", "model", "workspace", "thinking", "skills")
"""Keys of an agent that a change sets as they are; null, and an empty text, remove them."""
TOOL_KEYS = ("also_allow", "deny")
"""Keys of an agent's `tools:` that switching tools changes."""
BUDGET_KEYS = ("cost_usd", "tokens", "then")

Edits = dict[KeyPath, Any]
Raw = Mapping[str, Any]


def configured_agents(raw: Raw) -> list[Mapping[str, Any]]:
    """Return the agents as written.

    Raises:
        InvalidRequest: They are one agent and no list.
    """
    found = raw.get("agents")
    if isinstance(found, Mapping):
        raise InvalidRequest(phrase("agents: is one agent and no list; put a dash before it."))
    return list(found or ())


def place_of(raw: Raw, id: str) -> int | None:
    """Return the place of an agent in the list; None when nothing is written about it."""
    return next((place for place, each in enumerate(configured_agents(raw)) if each.get("id") == id), None)


def add_agent(raw: Raw, agents: Sequence[Agent], item: Mapping[str, Any]) -> Edits:
    """Return the edits that add an agent.

    Args:
        agents: The existing ones; the default stays the default, also when nothing was written about agents so far.

    Raises:
        Conflict: There is one of that id.
    """
    if any(each.id == item["id"] for each in agents):
        raise Conflict(phrase("There is an agent {id} already.", id=item["id"]), details={"field": "id"})
    present = configured_agents(raw)
    if present:
        return {("agents", len(present)): dict(item)}
    default = next(each for each in agents if each.default)
    return {("agents",): [{"id": default.id}, dict(item)]}


def free_id(agents: Iterable[Agent], name: str) -> str:
    """Return an id for an agent of a name.

    Raises:
        InvalidRequest: The name has no letter or digit.
    """
    taken = {each.id for each in agents}
    base = slugify(name, "-")[:60].strip("-")
    if not base:
        raise InvalidRequest(phrase("A name with letters or digits was expected."), details={"field": "name"})
    return next(id for id in (base, *(f"{base}-{number}" for number in range(2, len(taken) + 3))) if id not in taken)


def change_agent(raw: Raw, agents: Sequence[Agent], id: str, change: Mapping[str, Any]) -> Edits:
    """Return the edits that change an agent.

    Args:
        change: Its keys as `agents.update` takes them; `tools` are the new rules.
    """
    place = place_of(raw, id)
    item = configured_agents(raw)[place] if place is not None else {}
    keys = {key: change[key] for key in PLAIN_KEYS if key in change}
    edits: Edits = {}
    agent = next((each for each in agents if each.id == id), None)
    if change.get("default") and agent is not None and not agent.default:
        edits, keys = _made_default(raw, agents, agent), {"default": True, **_pinned(item, agent), **keys}
    if place is None:
        new = {key: value for key, value in keys.items() if value not in (None, "")}
        new |= {"tools": change["tools"]} if change.get("tools") else {}
        if new:
            edits[("agents",)] = [{"id": id, **new}]
    else:
        for key, value in keys.items():
            _set(edits, item, ("agents", place), key, value)
        if "tools" in change:
            edits |= _tool_edits(item, place, change["tools"])
    edits |= _binding_edits(raw, id, change)
    if "budget" in change:
        edits |= _budget_edits(raw, id, change["budget"] or {})
    return edits


def remove_agent(raw: Raw, agent: Agent) -> tuple[Edits, int]:
    """Return the edits that remove an agent, its bindings and its budget; and how many bindings.

    Raises:
        Conflict: It is the default agent.
    """
    place = place_of(raw, agent.id)
    if agent.default or place is None:
        raise Conflict(
            phrase(
                "{id} is the default agent, which answers where no other does. Make another one the default first.",
                id=agent.id,
            )
        )
    bindings = [at for at, each in enumerate(raw.get("bindings") or ()) if each.get("agent") == agent.id]
    budgets = [at for at, each in enumerate(_list(raw, "budgets")) if _is_of(each, agent.id)]
    edits: Edits = {("agents", place): REMOVED}
    edits |= {("bindings", at): REMOVED for at in reversed(bindings)}
    edits |= {("budgets", at): REMOVED for at in reversed(budgets)}
    return edits, len(bindings)


def bound_channels(raw: Raw) -> list[tuple[str, str, str | None]]:
    """Return the bindings of whole channels or accounts, as (agent, channel, account)."""
    return [
        (str(each["agent"]), str(each["match"]["channel"]), _account(each["match"]))
        for each in raw.get("bindings") or ()
        if _is_simple(each)
    ]


def bound_chats(raw: Raw, id: str) -> list[dict[str, Any]]:
    """Return the people, groups and rooms that bindings of an agent name, as `agents.update` takes them."""
    keys = [_chat_key(each) for each in raw.get("bindings") or () if each.get("agent") == id]
    names = ("channel", "account", "peer", "kind")
    return [{name: key[at] for at, name in enumerate(names) if key[at]} for key in keys if key is not None]


def other_bindings(raw: Raw, id: str) -> list[Mapping[str, Any]]:
    """Return what further bindings of an agent match, such as one group."""
    return [each["match"] for each in raw.get("bindings") or () if each.get("agent") == id and not _is_simple(each)]


def budget_of(raw: Raw, id: str) -> Mapping[str, Any]:
    """Return an agent's budget a day, as written; empty without one of its own."""
    return next((each for each in _list(raw, "budgets") if _is_of(each, id)), {})


def field_of(keys: KeyPath) -> str:
    """Return the field of `agents.update` that an error at these keys belongs to; empty for none."""
    match keys:
        case ("agents", int(), str(key), *_):
            return key
        case ("bindings", *_):
            return "channels"
        case ("budgets", int(), str(key), *_):
            return key if key in BUDGET_KEYS else "budget"
        case ("budgets", *_):
            return "budget"
    return ""


def _set(edits: Edits, item: Mapping[str, Any], above: KeyPath, key: str, value: Any) -> None:
    if value in (None, ""):
        if key in item:
            edits[(*above, key)] = REMOVED
    elif item.get(key) != value:
        edits[(*above, key)] = value


def _tool_edits(item: Mapping[str, Any], place: int, rules: Mapping[str, Any]) -> Edits:
    present = item.get("tools") or {}
    if not present:
        return {("agents", place, "tools"): dict(rules)} if rules else {}
    if not rules:
        return {("agents", place, "tools"): REMOVED}
    edits: Edits = {}
    for key in TOOL_KEYS:
        _set(edits, present, ("agents", place, "tools"), key, rules.get(key))
    return edits


def _made_default(raw: Raw, agents: Iterable[Agent], agent: Agent) -> Edits:
    """Return the edits of those that were the default: their workspaces stay where they are."""
    edits: Edits = {}
    for place, each in enumerate(configured_agents(raw)):
        if each.get("default"):
            edits[("agents", place, "default")] = REMOVED
        was = next(known for known in agents if known.id == each.get("id"))
        if was.default:
            edits |= {("agents", place, key): value for key, value in _pinned(each, was).items()}
    return edits


def _pinned(item: Mapping[str, Any], agent: Agent) -> dict[str, Any]:
    """Return what keeps an agent's workspace where it is: without a name of its own, it depends on the default."""
    return {} if "workspace" in item else {"workspace": agent.workspace.name}


def _binding_edits(raw: Raw, id: str, change: Mapping[str, Any]) -> Edits:
    """Return the edits that bind an agent to these channels and chats alone; another's binding becomes its own."""
    present = list(raw.get("bindings") or ())
    edits: Edits = {}
    gone: list[int] = []
    new: list[dict[str, Any]] = []
    for part, key_of in (("channels", _channel_key), ("chats", _chat_key)):
        if part not in change:
            continue
        missing = {_key(each): each for each in change[part]}
        for place, each in enumerate(present):
            if (key := key_of(each)) is None:
                continue
            if missing.pop(key, None) is not None:
                edits |= {("bindings", place, "agent"): id} if each["agent"] != id else {}
            elif each["agent"] == id:
                gone.append(place)
        new += [{"agent": id, "match": _match(each)} for each in missing.values()]
    if not present:
        return {("bindings",): new} if new else {}
    if len(gone) == len(present) and not new:
        return {("bindings",): REMOVED}
    edits |= {("bindings", len(present) + number): each for number, each in enumerate(new)}
    return edits | {("bindings", place): REMOVED for place in sorted(gone, reverse=True)}


_Key = tuple[str, str | None, str | None, str | None]
"""Channel, account, peer and kind of chat; None for any."""


def _key(wanted: Mapping[str, Any]) -> _Key:
    return wanted["channel"], wanted.get("account"), wanted.get("peer"), wanted.get("kind")


def _channel_key(binding: Mapping[str, Any]) -> _Key | None:
    match = binding.get("match") or {}
    return (str(match["channel"]), _account(match), None, None) if _is_simple(binding) else None


def _chat_key(binding: Mapping[str, Any]) -> _Key | None:
    match = binding.get("match") or {}
    if not {"channel", "peer"} <= match.keys() <= {"channel", "account", "peer"}:
        return None
    peer = match["peer"]
    id, kind = (peer["id"], str(peer["kind"])) if isinstance(peer, Mapping) else (peer, None)
    return str(match["channel"]), _account(match), str(id), kind


def _match(wanted: Mapping[str, Any]) -> dict[str, Any]:
    channel, account, peer, kind = _key(wanted)
    match: dict[str, Any] = {"channel": channel, **({"account": account} if account else {})}
    if peer is not None:
        match["peer"] = {"kind": kind, "id": peer} if kind else peer
    return match


def _budget_edits(raw: Raw, id: str, budget: Mapping[str, Any]) -> Edits:
    present = _list(raw, "budgets")
    place = next((at for at, each in enumerate(present) if _is_of(each, id)), None)
    values = {key: budget[key] for key in BUDGET_KEYS if budget.get(key)}
    bounded = any(key != "then" for key in values)
    if place is None:
        new = {"per": "agent", "only": id, **values}
        if not bounded:
            return {}
        return {("budgets", len(present)): new} if present else {("budgets",): [new]}
    others = set(present[place]) - {"per", "only", "warn_at", *BUDGET_KEYS}
    if not bounded and not others:
        return {("budgets", place) if len(present) > 1 else ("budgets",): REMOVED}
    edits: Edits = {}
    for key in BUDGET_KEYS:
        if key in budget:
            _set(edits, present[place], ("budgets", place), key, budget[key])
    return edits


def _list(raw: Raw, section: str) -> list[Mapping[str, Any]]:
    found = raw.get(section)
    return [found] if isinstance(found, Mapping) else list(found or ())


def _is_of(budget: Mapping[str, Any], id: str) -> bool:
    return budget.get("per") == "agent" and budget.get("only") == id


def _is_simple(binding: Mapping[str, Any]) -> bool:
    match = binding.get("match") or {}
    return "channel" in match and match.keys() <= {"channel", "account"}


def _account(match: Mapping[str, Any]) -> str | None:
    account = match.get("account")
    return None if account in (None, "*") else str(account)
