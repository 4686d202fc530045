"""Contexts: who is responsible for something and what caused it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.ids import new_id

CHAIN_LIMIT = 32

SCOPES = frozenset(
    {
        "operator.read",
        "operator.write",
        "operator.admin",
        "operator.approvals",
        "operator.pairing",
        "operator.talk",
        "operator.talk.secrets",
        "operator.questions",
        "operator.metrics",
        "operator.browser",
    }
)
IMPLIED_SCOPES: dict[str, frozenset[str]] = {
    "operator.admin": SCOPES,
    "operator.write": frozenset({"operator.read", "operator.talk"}),
}


def expand_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Return `scopes` with all they imply; unknown names are dropped."""
    known = SCOPES.intersection(scopes)
    return known.union(*(IMPLIED_SCOPES.get(scope, frozenset()) for scope in known))


class ToolPolicy(Struct, frozen=True):
    """Which tools may be used: those in `allow` (None means every tool) and not in `deny`.

    Names are tool names or `group:<group>`, in lower case; `*` and `?` stand for any characters and any one.

    Attributes:
        source: Where it is configured, for explanations.
        named: What the owner wrote into `allow` and `also_allow`, without a profile's: it switches optional tools on.
    """

    allow: frozenset[str] | None = None
    deny: frozenset[str] = frozenset()
    source: str = ""
    named: frozenset[str] = frozenset()

    def permits(self, name: str, group: str) -> bool:
        """Whether a tool with this name and group may be used."""
        if _covers(self.deny, name, group):
            return False
        return self.allow is None or _covers(self.allow, name, group)

    def names(self, name: str, group: str) -> bool:
        """Whether the owner wrote this tool, or its group, into the policy."""
        return _covers(self.named, name, group)


def _covers(patterns: frozenset[str], name: str, group: str) -> bool:
    keys = (name, f"group:{group}")
    if not patterns.isdisjoint(keys):
        return True
    return any(fnmatchcase(key, each) for each in patterns if "*" in each or "?" in each for key in keys)


class Authority(Struct, frozen=True):
    """The rights under which something happens; frozen, and only ever narrowed.

    Attributes:
        principal: The actor: `owner`, `system`, `token:<id>`, `device:<id>`, `peer:<identity>`.
        person: Id of the person of `people:` behind the principal, when known.
        scopes: Expanded operator scopes.
        tool_policies: All must permit a tool; narrowing appends, so policies meet and never merge.
        owner: Whether the person is an owner of this home.
        tainted: Whether words from outside are in the conversation of what runs, or were in it since its last reset.
    """

    principal: str
    person: str | None = None
    scopes: frozenset[str] = frozenset()
    tool_policies: tuple[ToolPolicy, ...] = ()
    owner: bool = False
    tainted: bool = False

    def has(self, scope: str) -> bool:
        """Whether `scope` is granted."""
        return scope in self.scopes

    def narrow(
        self,
        *,
        scopes: Iterable[str] | None = None,
        policy: ToolPolicy | None = None,
        owner: bool | None = None,
        tainted: bool = False,
    ) -> Authority:
        """Return an authority with at most these rights; nothing passed here can widen it."""
        return replace(
            self,
            scopes=self.scopes if scopes is None else self.scopes & frozenset(scopes),
            tool_policies=(*self.tool_policies, policy) if policy else self.tool_policies,
            owner=self.owner if owner is None else self.owner and owner,
            tainted=self.tainted or tainted,
        )

    def meet(self, other: Authority) -> Authority:
        """Return the intersection of two authorities, in the name of the one with fewer rights."""
        least, most = sorted((self, other), key=lambda each: (each.owner, each.person is not None, len(each.scopes)))
        narrowed = least.narrow(scopes=most.scopes, owner=most.owner, tainted=most.tainted)
        further = tuple(policy for policy in most.tool_policies if policy not in least.tool_policies)
        return replace(narrowed, tool_policies=(*least.tool_policies, *further))

    def as_dict(self) -> dict[str, Any]:
        """The authority as plain data, to be stored with what waits."""
        return {
            "principal": self.principal,
            "person": self.person,
            "scopes": sorted(self.scopes),
            "tool_policies": [
                {
                    "allow": None if policy.allow is None else sorted(policy.allow),
                    "deny": sorted(policy.deny),
                    "source": policy.source,
                }
                for policy in self.tool_policies
            ],
            "owner": self.owner,
            "tainted": self.tainted,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Authority:
        """Read the result of `as_dict`; missing fields grant nothing."""
        return cls(
            principal=str(stored["principal"]),
            person=stored.get("person"),
            scopes=SCOPES.intersection(stored.get("scopes", ())),
            tool_policies=tuple(
                ToolPolicy(
                    None if policy.get("allow") is None else frozenset(policy["allow"]),
                    frozenset(policy["deny"]),
                    policy.get("source", ""),
                )
                for policy in stored.get("tool_policies", ())
            ),
            owner=bool(stored.get("owner", False)),
            tainted=bool(stored.get("tainted", False)),
        )


SYSTEM = Authority(principal="system", scopes=SCOPES, owner=True)


class Context(Struct, frozen=True):
    """A link in the chain of causes.

    Attributes:
        id: Identifier of this link.
        parent_id: The link that caused it.
        authority: Rights under which all of it happens.
        chain: Ids of the nearest ancestors, newest last, at most 32.
    """

    authority: Authority
    id: str = field(default_factory=new_id)
    parent_id: str | None = None
    chain: tuple[str, ...] = ()

    def child(self, authority: Authority | None = None) -> Context:
        """Return a new link below this one, with the same authority unless a narrower one is given."""
        return Context(
            authority=authority or self.authority,
            parent_id=self.id,
            chain=(*self.chain[-(CHAIN_LIMIT - 1) :], self.id),
        )

    def tainted(self) -> Context:
        """Return this link marked as tainted by words from outside."""
        return Context(self.authority.narrow(tainted=True), self.id, self.parent_id, self.chain)


def system_context() -> Context:
    """Return a new context for the hub's own actions."""
    return Context(authority=SYSTEM)
