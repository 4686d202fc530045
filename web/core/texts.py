"""Texts that stand in Python data or in scripts; those of templates stand in the templates."""

from __future__ import annotations

from msgspec import Struct


class NavigationItem(Struct, frozen=True):
    """One entry of the navigation; the title is a message id.

    Attributes:
        tabs: Pages that belong together and are shown as tabs above each of them.
        short: The title where there is little room, as in the bar of a phone.
    """

    path: str
    title: str
    icon: str = ""
    tabs: tuple[NavigationItem, ...] = ()
    short: str = ""

    def holds(self, path: str) -> bool:
        """Whether a page is this one, or one of its tabs."""
        return path == self.path or any(tab.path == path for tab in self.tabs)


NAVIGATION = (
    NavigationItem("/chat", "Chat", "chat", short="Chat"),
    NavigationItem("/overview", "Overview", "overview", short="Overview"),
    NavigationItem(
        "/automations",
        "Automations",
        "automation",
        (
            NavigationItem("/automations", "Automations"),
            NavigationItem("/automations/history", "History"),
            NavigationItem("/scripts", "Scripts"),
            NavigationItem("/blueprints", "Blueprints"),
        ),
        "Auto\N{SOFT HYPHEN}mations",
    ),
    NavigationItem(
        "/memory",
        "Memory",
        "memory",
        (
            NavigationItem("/memory", "Browse"),
            NavigationItem("/memory/search", "Search"),
            NavigationItem("/memory/intents", "Standing reminders"),
            NavigationItem("/memory/history", "Changes"),
            NavigationItem("/memory/index", "Index"),
        ),
        "Memory",
    ),
    NavigationItem("/config", "Configuration", "config", short="Config"),
    NavigationItem(
        "/developer",
        "Developer tools",
        "developer",
        (
            NavigationItem("/developer", "States"),
            NavigationItem("/developer/events", "Events"),
            NavigationItem("/developer/services", "Services"),
            NavigationItem("/developer/templates", "Templates"),
            NavigationItem("/developer/mqtt", "MQTT"),
        ),
        "Tools",
    ),
)

SUGGESTIONS = (
    "What can you do?",
    "What time is it?",
    "Remember that the boiler was serviced on 12 May",
)

REQUIRED = "Required"

INTEGRATION_STATES = {
    "set_up": "works",
    "retrying": "not ready yet, tries again",
    "failed": "failed",
    "disabled": "switched off",
    "unloaded": "not loaded",
}

RUN_END = "run_finished"
RUN_ENDS = {"ok": "Answered", "error": "Failed", "aborted": "Stopped", "timeout": "Took too long"}

ACTIVITY = {
    "message_received": "Message received",
    "message_rejected": "Message refused",
    "message_dead": "Message could not be delivered",
    "config_changed": "Configuration changed",
}

APPROVAL_KINDS = {
    "tool": "Approve the tool",
    "service": "Approve the service",
    "automation": "Approve the automation",
    "exec": "Approve the command",
    "other": "Approve",
}
APPROVAL_STATES = {
    "pending": "Waits for you",
    "approved": "Approved",
    "denied": "Denied",
    "expired": "Nobody answered in time",
    "cancelled": "Taken back",
}

AUTOMATION_STATES = {"on": "on", "off": "off", "unavailable": "unavailable"}
AUTOMATION_FILTERS = {
    "all": "All",
    "on": "On",
    "off": "Off",
    "unavailable": "Unavailable",
    "failing": "Failing",
}
OUTCOMES = {
    "running": "running",
    "finished": "finished",
    "stopped": "stopped early",
    "failed": "failed",
    "cancelled": "cancelled",
    "timed_out": "took too long",
    "denied": "not approved",
    "interrupted": "interrupted",
}
NOT_RUN_REASONS = {
    "conditions": "a condition did not hold",
    "paused": "it had paused itself",
    "mode": "it was running already",
    "rate_limit": "it had run often enough",
    "budget": "its budget was spent",
    "missed": "it was missed and let go",
    "error": "something could not be worked out",
}
STEP_STATES = {
    "done": "done",
    "running": "running",
    "failed": "failed",
    "refused": "did not hold",
    "unreached": "not reached",
}
CARD_LISTS = {
    "triggers": "When",
    "trigger": "When",
    "conditions": "And if",
    "condition": "And if",
    "actions": "Then do",
    "action": "Then do",
    "if": "If",
    "and": "All of",
    "or": "Any of",
    "not": "None of",
    "then": "Then",
    "else": "Otherwise",
    "sequence": "Do",
    "parallel": "At the same time",
    "default": "If none of them",
    "while": "While",
    "until": "Until",
    "wait_for_trigger": "Until one of these fires",
}

MEMORY_KINDS = {
    "fact": "Fact",
    "preference": "Preference",
    "decision": "Decision",
    "person": "About a person",
    "todo": "To do",
}
MEMORY_SECTIONS = {
    "curated": "What always counts",
    "people": "People",
    "shared": "Shared by everybody here",
    "groups": "Groups",
    "imported": "Brought in from elsewhere",
    "extra": "Further folders",
    "transcripts": "Conversations",
    "other": "More",
}
MEMORY_AREAS = {
    "private": "Only you and your own conversations see it.",
    "shared": "Everybody in this home sees it.",
    "person": "Only the person it belongs to, and you here, see it.",
    "group": "It is seen in that group alone.",
}
MEMORY_SCORES = {"score": "Score", "vector_score": "By meaning", "text_score": "By word"}
MEMORY_ENGINES = {
    "vectors": "by meaning",
    "keywords": "by word",
    "grep": "through the files themselves",
}
MEMORY_FACTORS = {
    "recency": "how recent it is",
    "diverse": "unlike those above it",
}
MEMORY_REASONS = {
    "add": "Remembered",
    "edit": "Edited",
    "tidy": "Tidied up",
    "import": "Brought in",
    "undo": "Taken back",
    "note": "Written after a conversation",
    "forget": "Forgotten",
}
MEMORY_FACTS = {
    "files": "Files",
    "chunks": "Passages",
    "waiting": "Passages that wait for a vector",
    "refused": "Passages nobody could make a vector of",
    "synced_ms": "Last compared with the files",
    "size_bytes": "Size of the index",
    "rss_bytes": "Memory of the index worker",
    "changes": "Changes that are kept",
}
MEMORY_TRUST = {"yes": "From this home", "no": "From outside"}
MEMORY_TOLD = {
    "added": "Remembered. It stands here:",
    "known": "That was remembered already. It stands here:",
    "replaced": "Remembered, and what holds no longer is struck. It stands here:",
    "not_replaced": "Remembered. Nothing was like what holds no longer, so nothing was struck. It stands here:",
    "saved": "Saved.",
    "deleted": "The file is gone. It can be brought back under Changes.",
    "undone": "Taken back.",
    "standing": "It stands from now on.",
    "removed": "It is removed.",
    "nothing_said": "Say what is to be forgotten: fill in at least one field.",
}

SCRIPT_TEXTS = (
    "Automation",
    "Blueprint",
    "Conversation",
    "Memory",
    "Memory file",
    "New automation",
    "New script",
    "Reload the configuration",
    "Remember something",
    "Script",
    "Sign out",
    "Close",
    "Discard it",
    "Find",
    "Form or YAML",
    "Go to or do",
    "Go to the automations",
    "Go to the blueprints",
    "Go to the chat",
    "Go to the configuration",
    "Go to the developer tools",
    "Go to the memory",
    "Go to the overview",
    "Go to the scripts",
    "Keyboard shortcuts",
    "Load the file and drop mine",
    "New conversation",
    "Nothing is called that.",
    "Reconnecting…",
    "Replace",
    "Save mine over it",
    "Save the file",
    "Saving…",
    "Sign in",
    "Signed out. Reload the page to sign in.",
    "Stop",
    "Text of {file}",
    "The automation as YAML",
    "The file changed meanwhile. Nothing was saved; your text is still here.",
    "The hub cannot be reached right now.",
    "The hub cannot be reached right now. Your text is kept in this browser.",
    "The hub was updated. Reload the page when it suits you.",
    "The message was refused.",
    "The script as YAML",
    "This is your unsaved draft.",
    "Write a message",
    "You are signed out. Sign in in another tab, then save again. Your text is kept in this browser.",
    "Your text is kept in this browser.",
    "all",
    "next",
    "previous",
    "replace",
)
