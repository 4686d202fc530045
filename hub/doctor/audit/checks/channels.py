"""Channels: who may write to the assistant, and what they share and may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.config.files_editor import REMOVED
from hub.config.paths import KeyPath
from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import Account, AuditContext
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot
from hub.messaging.access.access import ANYBODY, DmPolicy, GroupPolicy
from hub.messaging.access.routing import DmScope

HARMLESS = frozenset({"agent.run", "message.send", "notify.send"})
"""Steps of an automation that only answer."""
PAUSES = frozenset({"delay", "variables", "stop"})


def _closing(account: Account) -> Mapping[KeyPath, Any]:
    """Return the edits that let nobody in to direct messages whom the owner does not know."""
    keys = account.keys
    left = [each for each in account.stated["allow_from"] if each != ANYBODY]
    return {(*keys, "dm_policy"): DmPolicy.PAIRING.value, (*keys, "allow_from"): left or REMOVED}


def _open_dm(context: AuditContext) -> Iterator[Spot]:
    for account in context.accounts:
        if account.open_dm:
            what = phrase("Anybody may write to {account}", account=account.name)
            yield Spot(what, (*account.keys, "dm_policy"), edits=_closing(account))


def _open_groups(context: AuditContext) -> Iterator[Spot]:
    for account in context.accounts:
        if account.open_groups:
            keys = (*account.keys, "group_policy")
            what = phrase("{account} answers in every group that somebody adds it to", account=account.name)
            yield Spot(what, keys, edits={keys: GroupPolicy.ALLOWLIST.value})


def _every_message(context: AuditContext) -> Iterator[Spot]:
    for account in context.accounts:
        if account.open_groups and not account.stated["require_mention"]:
            keys = (*account.keys, "require_mention")
            what = phrase("{account} reads and answers every message of every group", account=account.name)
            yield Spot(what, keys, edits={keys: True})


def _strangers_tools(context: AuditContext) -> Iterator[Spot]:
    profile = context.section("tools").get("strangers", "minimal")
    if profile == "minimal":
        return
    keys, open_to = ("tools", "strangers"), context.open_to_strangers
    what = phrase("Strangers may use the tools of the profile {profile}", profile=profile)
    if open_to:
        names = [each.name for each in open_to]
        what = phrase(
            "Strangers may write to {accounts}, and use the tools of the profile {profile}",
            accounts=names,
            profile=profile,
        )
    severity = None if any(each.anybody for each in open_to) else AuditSeverity.WARNING
    yield Spot(what, keys, severity=severity, edits={keys: "minimal"})


def _shared(context: AuditContext) -> Iterator[Spot]:
    if context.section("session").get("dm_scope") != DmScope.MAIN:
        return
    people = [each for each in context.section("people") or () if each.get("identities")]
    others = [each for each in people if not each.get("owner")]
    opened = [each.name for each in context.accounts if each.open_dm]
    keys: KeyPath = ("session", "dm_scope")
    mends: Mapping[KeyPath, Any] = {keys: "auto"}
    if opened and others:
        what = phrase("All people of this home share one conversation, and {accounts} is open", accounts=opened)
        yield Spot(what, keys, edits=mends)
    elif opened or others:
        what = phrase("All people of this home share one conversation")
        yield Spot(what, keys, severity=AuditSeverity.WARNING, edits=mends)


def _set_off(context: AuditContext) -> Iterator[Spot]:
    """Find automations that a message of anybody sets off, and that do more than answer."""
    opened = {each.channel for each in context.open_to_strangers}
    wide = {each.channel for each in context.accounts if each.anybody}
    if not opened:
        return
    for at, automation in enumerate(context.section("automation") or ()):
        if not automation.get("enabled", True) or not _acts(automation.get("actions", ())):
            continue
        for index, trigger in enumerate(automation.get("triggers", ())):
            if trigger.get("trigger") != "message" or trigger.get("from_owner") or "sender" in trigger:
                continue
            channels = opened & set(trigger.get("channel", opened))
            if not channels:
                continue
            keys = context.written(("automation", at, "triggers", index))
            name = automation.get("alias") or automation["id"]
            what = phrase("A stranger's message can set off “{automation}”", automation=name)
            severity = None if channels & wide else AuditSeverity.WARNING
            yield Spot(what, keys, severity=severity, edits={(*keys, "from_owner"): True})


def _acts(actions: Any) -> bool:
    """Whether steps do more than answer; steps within steps are looked at too."""
    if isinstance(actions, Mapping):
        called = actions.get("action")
        if isinstance(called, str):
            return called not in HARMLESS
        return any(_acts(each) for key, each in actions.items() if key not in PAUSES)
    return isinstance(actions, (list, tuple)) and any(_acts(each) for each in actions)


_BY_NAME = phrase("Let in whom you know: by pairing, or by their identity.")
CHECKS = (
    AuditCheck(
        "channels.open",
        AuditSeverity.WARNING,
        phrase("Who may write to each account"),
        phrase(
            "Whoever finds the account talks to your assistant at your cost, and can try to talk it into telling or "
            "doing what it should not."
        ),
        _BY_NAME,
        _open_dm,
    ),
    AuditCheck(
        "channels.open_groups",
        AuditSeverity.WARNING,
        phrase("In which groups it answers"),
        phrase("Somebody adds it to a group of theirs, and everybody there talks to it at your cost."),
        phrase("Let it answer in the groups that you list."),
        _open_groups,
    ),
    AuditCheck(
        "channels.every_message",
        AuditSeverity.WARNING,
        phrase("Whether it answers unasked in groups"),
        phrase("All that is said there goes to your model, from people who may not know it."),
        phrase("Let it read what is addressed to it: a mention, a reply, a command."),
        _every_message,
    ),
    AuditCheck(
        "channels.strangers",
        AuditSeverity.CRITICAL,
        phrase("What strangers may use"),
        phrase(
            "Who is none of your people can have the assistant look into the home or act in it, as far as the tools go."
        ),
        phrase("Give strangers the profile minimal, and make those whom you trust people of this home."),
        _strangers_tools,
    ),
    AuditCheck(
        "channels.shared",
        AuditSeverity.CRITICAL,
        phrase("Who shares a conversation"),
        phrase("What one of them tells the assistant in confidence, another can ask it for."),
        phrase("Give everybody a conversation of their own."),
        _shared,
    ),
    AuditCheck(
        "channels.set_off",
        AuditSeverity.CRITICAL,
        phrase("Whose messages set off automations"),
        phrase("Somebody who guesses the words has your home do what the automation does."),
        phrase("Let the owner alone set it off, or name the senders."),
        _set_off,
    ),
)
