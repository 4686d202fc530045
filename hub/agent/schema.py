"""Configuration of agents: `agents:`."""

from __future__ import annotations

from typing import Any

from hub.agent.answer.human_delay import HUMAN_DELAY_SCHEMA
from hub.agent.budgets.limits import (
    DEFAULT_CALLS,
    DEFAULT_COST_USD,
    DEFAULT_REPEATS,
    DEFAULT_SECONDS,
    DEFAULT_TOKENS,
    DEFAULT_TURNS,
)
from hub.agent.compaction.settings import DEFAULT_KEEP_TOKENS, DEFAULT_RESERVE_TOKENS, DEFAULT_SOFT_TOKENS
from hub.agent.conversation.window_size import WINDOW_MIN
from hub.agent.exchanges.settings import CROSS_CHECKS as EXCHANGE_CHECKS
from hub.agent.prompt.prompt import DEFAULT_FILE_CHARS, DEFAULT_TOOLS_UP_FRONT, DEFAULT_TOTAL_CHARS, TOTAL_CHARS_MAX
from hub.agent.subagents.settings import SUBAGENTS_SCHEMA
from hub.config.sections import Section
from hub.core.schema import (
    PATH,
    All,
    AnyOf,
    Described,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    ensure_list,
    integer,
    number,
    positive_seconds,
    slug,
    string,
)
from hub.models.schema import CREDENTIALS_LIMIT, model_ref
from hub.models.thinking import LEVELS
from hub.sandbox.schema import SANDBOX_SCHEMA, engines_of
from hub.skills.schema import skill_names
from hub.template.searching import caseless_pattern
from hub.tools.exec_rules import EXEC_KEYS
from hub.tools.schema import TOOL_KEYS

AGENTS_LIMIT = 100
MENTION_PATTERNS_LIMIT = 20


def _directory(value: Any) -> str:
    if isinstance(value, str) and value.strip() and "\0" not in value and len(value) <= 1_024:
        return value
    raise Invalid("expected a directory, relative to the home directory or absolute")


def _consistent(agents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Refuse duplicate ids, two defaults, and two agents in one workspace."""
    seen: dict[str, set[str]] = {"id": set(), "workspace": set()}
    default: str | None = None
    for index, agent in enumerate(agents):
        for key, values in seen.items():
            if key not in agent:
                continue
            if agent[key] in values:
                raise Invalid(f"there are two agents with the {key} {agent[key]}", path=[index, key])
            values.add(agent[key])
        if not agent["default"]:
            continue
        if default is not None:
            raise Invalid(f"{default} is the default agent already; only one can be", path=[index, "default"])
        default = agent["id"]
    return _with_shared_sandbox(agents)


def _with_shared_sandbox(agents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give all agents that share a sandbox the engines that one of them states; two may not state different ones."""
    shared = [
        (index, agent, engines_of(agent["sandbox"]))
        for index, agent in enumerate(agents)
        if agent.get("sandbox") and agent["sandbox"]["scope"] == "shared"
    ]
    first = next(((agent["id"], engines) for _, agent, engines in shared if engines), None)
    if first is None:
        return agents
    for index, agent, engines in shared:
        if engines and engines != first[1]:
            raise Invalid(
                f"it shares its sandbox (scope: shared) with {first[0]}, which has other settings of "
                f"{' and '.join(first[1])}; write them at one of the two alone",
                path=[index, "sandbox", *engines][:3],
            )
        agent["sandbox"] |= first[1]
    return agents


def _or_empty(value: Any) -> Any:
    return {} if value is None else value


_mapping = Described(_or_empty, {}, "mapping")

LIMITS_SCHEMA = {
    Optional("turns", default=DEFAULT_TURNS, description="Model calls of one run"): All(
        integer, Range(min=1, max=10_000)
    ),
    Optional("tokens", default=DEFAULT_TOKENS, description="Tokens of one run, in and out"): All(
        integer, Range(min=1_000, max=10_000_000_000)
    ),
    Optional("cost_usd", default=DEFAULT_COST_USD, description="US dollars of one run, where prices are known"): All(
        number, Range(min=0, min_included=False, max=1_000_000)
    ),
    Optional("seconds", default=DEFAULT_SECONDS, description="Time of one run, from its start"): All(
        positive_seconds, Range(max=604_800)
    ),
    Optional("calls", default=DEFAULT_CALLS, description="Tool calls of one run"): All(
        integer, Range(min=1, max=1_000_000)
    ),
    Optional(
        "repeats",
        default=DEFAULT_REPEATS,
        description="How often the same tool calls may bring the same results in a row; 0 for ever",
    ): All(integer, AnyOf(0, Range(min=4, max=1_000))),
}

_tokens = All(integer, Range(min=0, max=10_000_000))

COMPACTION_SCHEMA = {
    Optional("enabled", default=True, description="Whether long conversations are summarised by themselves"): boolean,
    Optional(
        "reserve_tokens",
        default=DEFAULT_RESERVE_TOKENS,
        description="Room for the answer, at most a quarter of the model's window",
    ): _tokens,
    Optional(
        "soft_tokens",
        default=DEFAULT_SOFT_TOKENS,
        description="How long before the reserve it begins, at most a twentieth of the window",
    ): _tokens,
    Optional("keep_tokens", default=DEFAULT_KEEP_TOKENS, description="How much of the end is kept as it was said"): All(
        integer, Range(min=500, max=10_000_000)
    ),
    Optional("memory_flush", default=True, description="Whether memory is written first"): boolean,
}

_patterns = All(ensure_list(All(string, Length(min=1, max=64))), Length(max=200))

PRUNING_SCHEMA = {
    Optional(
        "mode",
        default="auto",
        description="cache_ttl: shorten old tool results once the provider's cache has run out; auto: for Anthropic's "
        "models; off",
    ): In(["auto", "cache_ttl", "off"]),
    Optional(
        "ttl",
        description="How long a provider keeps a conversation in its cache; without it, as long as "
        "models.providers.*.cache_ttl tells it",
    ): All(positive_seconds, Range(max=86_400)),
    Optional("tools", default=dict, description="Whose results may be shortened"): All(
        _mapping,
        {
            Optional("allow", default=list, description="Only those of these tools, with *; empty is all"): _patterns,
            Optional("deny", default=list, description="Not those of these tools, with *"): _patterns,
        },
    ),
}

PROMPT_SCHEMA = {
    Optional("mode", default="auto", description="auto is minimal for subagents and full for all others"): In(
        ["auto", "full", "minimal", "none"]
    ),
    Optional("file_chars", default=DEFAULT_FILE_CHARS, description="Characters of one workspace file"): All(
        integer, Range(min=0, max=TOTAL_CHARS_MAX)
    ),
    Optional("total_chars", default=DEFAULT_TOTAL_CHARS, description="Characters of all workspace files"): All(
        integer, Range(min=0, max=TOTAL_CHARS_MAX)
    ),
    Optional(
        "tools_up_front",
        default=DEFAULT_TOOLS_UP_FRONT,
        description="Tools that are described; an agent finds further ones with find_tools",
    ): All(integer, Range(min=1, max=2_000)),
}

AGENT_SCHEMA = {
    Required("id", description="Short name used in session keys and storage"): slug,
    Optional("name", description="How the agent calls itself"): All(string, Length(min=1, max=100)),
    Optional("emoji", description="A symbol that is shown with its name"): All(string, Length(min=1, max=16)),
    Optional("avatar", description="A picture of it in its workspace: PNG, JPEG, GIF or WebP, at most 1 MiB"): All(
        string, Length(min=1, max=512)
    ),
    Optional("default", default=False, description="Whether it answers where no binding names another"): boolean,
    Optional("model", description="auto, provider/model or an alias; without it models.default"): model_ref,
    Optional("workspace", description="Its directory; without it workspace, or workspace-ID for further agents"): (
        Described(_directory, {"type": "string", "format": PATH}, "directory")
    ),
    Optional(
        "seed_workspace",
        default=True,
        description="Whether files that are missing there at first, such as AGENTS.md, are written",
    ): boolean,
    Optional("tools", default=dict, description="Which tools it may use, within `tools:`"): All(_mapping, TOOL_KEYS),
    Optional("exec", default=dict, description="Which commands it may run; what it says goes before `exec:`"): All(
        _mapping, EXEC_KEYS
    ),
    Optional("skills", description="Only these skills; without it, all that are enabled"): skill_names,
    Optional("thinking", description="How much it thinks before it answers, where the model can"): In(LEVELS),
    Optional("human_delay", description="The pause between blocks of its answers; without it messages.human_delay"): (
        HUMAN_DELAY_SCHEMA
    ),
    Optional("context_tokens", description="How much of a model's window it uses at most; without it, all of it"): All(
        integer, Range(min=WINDOW_MIN, max=10_000_000)
    ),
    Optional("limits", default=dict, description="Bounds on one run"): All(_mapping, LIMITS_SCHEMA),
    Optional("compaction", default=dict, description="How its long conversations are summarised"): All(
        _mapping, COMPACTION_SCHEMA
    ),
    Optional("pruning", default=dict, description="How old tool results are shortened in what a model is sent"): All(
        _mapping, PRUNING_SCHEMA
    ),
    Optional("prompt", default=dict, description="How much of a prompt it has"): All(_mapping, PROMPT_SCHEMA),
    Optional("sandbox", description="Where its programs run, and what they see; see docs/sandbox.md"): All(
        _mapping, SANDBOX_SCHEMA
    ),
    Optional("subagents", default=dict, description="Tasks that it gives to background conversations"): All(
        _mapping, SUBAGENTS_SCHEMA
    ),
    Optional("params", default=dict, description="Further parameters of its model calls, sent unchanged"): All(
        _mapping, {string: object}
    ),
    Optional(
        "credentials",
        default=dict,
        description="The credentials of a provider that it may use, in order; without an entry all of the provider",
    ): All(_mapping, {slug: All(ensure_list(slug), Length(min=1, max=CREDENTIALS_LIMIT))}),
    Optional(
        "mention_patterns", default=list, description="Regular expressions that count as a mention of it in groups"
    ): All(ensure_list(caseless_pattern), Length(max=MENTION_PATTERNS_LIMIT)),
}

AGENTS_SCHEMA = Schema(All(ensure_list(AGENT_SCHEMA), Length(max=AGENTS_LIMIT), _consistent))

SECTIONS = (
    Section("agents", AGENTS_SCHEMA, critical=True, default=[], description="Agents: who answers, and with what"),
)

CROSS_CHECKS = EXCHANGE_CHECKS
