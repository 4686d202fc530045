"""Texts of Python data and scripts; those of templates are in the templates."""

from __future__ import annotations

SUGGESTIONS = (
    "What can you do?",
    "What time is it?",
    "Remember that the boiler was serviced on 12 May",
)

REQUIRED = "Required"

INTEGRATION_STATES = {
    "set_up": "Works",
    "failed": "does not work",
    "installing": "is being installed",
    "retrying": "not ready, trying again",
    "disabled": "switched off",
    "unusable": "cannot be used here",
}
NOT_IN_USE = "not in use"
CHANNEL_STATES = {
    "connecting": "connecting",
    "connected": "Connected",
    "disconnected": "not connected, trying again",
    "failed": "does not work",
}

DM_POLICIES = {
    "pairing": "people of this home, the list, and whoever is paired",
    "allowlist": "the list, and whoever is paired",
    "open": "everybody",
    "disabled": "nobody",
}
GROUP_POLICIES = {"allowlist": "groups that are listed", "open": "every group", "disabled": "no group"}
PAIRING_STATES = {"approved": "is paired", "denied": "was refused"}
MESSAGE_STATES = {
    "queued": "waits to be sent",
    "sending": "is being sent",
    "sent": "sent",
    "unknown": "may not have arrived",
    "dead": "could not be sent",
    "stopped": "was stopped by a hook",
}

MODEL_PROVIDERS = {
    "demo": "Demo",
    "anthropic": "Anthropic",
    "openai": "OpenAI",
    "gemini": "Gemini",
    "openrouter": "OpenRouter",
    "mistral": "Mistral",
    "deepseek": "DeepSeek",
    "xai": "xAI",
    "groq": "Groq",
    "moonshot": "Moonshot",
    "zai": "Z.ai",
    "dashscope": "Alibaba Cloud",
    "cerebras": "Cerebras",
    "together_ai": "Together AI",
    "ollama": "Ollama",
    "lmstudio": "LM Studio",
    "llama_cpp": "llama.cpp",
    "vllm": "vLLM",
    "my_server": "My own server",
    "offline": "Offline",
}
USAGE_PARTS = {"model": "Model", "agent": "Agent", "automation": "Automation", "channel": "Channel"}
BUDGET_PERIODS = {
    "run": "for one answer",
    "session": "for one conversation",
    "agent": "a day, for each agent",
    "channel": "a day, for each channel",
    "day": "a day",
}

SKILL_STATES = {
    "quarantined": "in quarantine",
    "changed": "changed",
    "broken": "cannot be read",
    "not_enabled": "not enabled",
    "missing": "lacks something",
    "ready": "Ready",
    "disabled": "switched off",
    "shadowed": "another comes first",
}
"""Those that need a look first."""
SKILL_NAMES = (
    "Artifacts",
    "GitHub",
    "Home maintenance",
    "Home troubleshooting",
    "Meal plan",
    "Meeting notes",
    "Morning briefing",
    "Shopping list",
    "Study helper",
    "Travel packing",
    "Weather",
)
"""Those that come with Homarus."""
SKILL_SOURCES = {
    "workspace": "Workspace of an agent",
    "home": "Installed",
    "extra": "Further directory",
    "integration": "Comes with an integration",
    "bundled": "Comes with Homarus",
    "proposed": "Proposed by your assistant",
}
THINKING_LEVELS = {
    "off": "Not at all",
    "minimal": "Very little",
    "low": "Little",
    "medium": "Some",
    "high": "Much",
}
TOOL_RISKS = {
    "read": "only reads",
    "outside": "reads outside",
    "change": "changes something",
    "destroy": "hard to undo",
}
TOOL_GROUPS = {
    "home": "Your home",
    "memory": "Memory",
    "schedule": "Schedule",
    "message": "Messages",
    "session": "Conversations and agents",
    "web": "Web",
    "browser": "Browser",
    "files": "Files",
    "shell": "Commands",
    "skills": "Skills",
    "nodes": "Phones and computers",
    "canvas": "Canvas",
    "calculator": "Calculator",
    "gateway": "This hub",
    "mcp": "MCP",
}
"""In the order in which they are shown."""
INTEGRATION_LOOKS = {
    "waiting": "waits to be enabled",
    "enabled": "as you enabled it",
    "changed": "not as you enabled it",
    "own": "put there by hand",
}
INTEGRATION_REACHES = {
    "network": "Reaches the network",
    "files": "Reads or writes files",
    "programs": "Starts programs",
}
PACKAGE_STATES = {
    "installed": "installed",
    "locked": "installed from the lock of Homarus when it is enabled",
    "missing": "neither installed nor in the lock of Homarus; install it yourself first",
}
SKILL_SEVERITIES = {"danger": "Danger", "warning": "Warning", "note": "Note"}

RUN_END = "run_finished"

HAPPENING_OUTCOMES = {
    "answered": "Answered",
    "done": "Done",
    "changed": "Changed",
    "allowed": "Allowed",
    "waiting": "Waiting",
    "running": "Running",
    "did_not_run": "Did not run",
    "fell_back": "Fell back",
    "denied": "Denied",
    "refused": "Refused",
    "expired": "No answer in time",
    "stopped": "Stopped",
    "failed": "Failed",
}
HAPPENING_FACTS = {
    "durationMs": "Time",
    "waitedMs": "Waited",
    "model": "Model",
    "tokens": "Tokens",
    "costUsd": "Cost",
    "bytesSent": "Data sent",
    "stepCount": "Steps",
    "decidedBy": "Answered by",
    "before": "Before",
    "state": "After",
}
STEP_FACTS = {
    "model": "Model",
    "tokensIn": "Tokens in",
    "tokensOut": "Tokens out",
    "promptTokens": "Size of the prompt, in tokens",
    "bytesSent": "Data sent",
    "firstMs": "First word after",
    "tool": "Tool",
    "by": "Answered by",
    "entity_id": "Device",
    "value": "Value",
    "state": "State",
    "below": "Below",
    "above": "Above",
    "attempts": "Attempts",
    "error": "Error",
    "skipped": "Not shown before it",
}
STEP_TEXTS = {
    "text": "Text",
    "arguments": "Arguments",
    "result": "Result",
    "details": "Details",
    "changed": "Changed variables",
}

APPROVAL_TITLES = {
    "exec": "Run this command on this machine?",
    "tool": "Let the assistant do this?",
    "service": "Let the assistant do this at home?",
    "automation": "Let this automation go on?",
    "other": "Allow this?",
}
APPROVAL_DETAILS = {
    "program": "Program",
    "hash": "Fingerprint",
    "workdir": "Folder",
    "folder": "Folder",
    "host": "Where",
    "agent": "Agent",
    "service": "Service",
    "data": "With",
    "tool": "Tool",
    "arguments": "With",
    "command": "Command",
}

PUSH_TOPICS = {
    "approvals": ("Approvals", "When the assistant waits for a yes or no."),
    "questions": ("Questions", "When it needs an answer to go on."),
    "reminders": ("Reminders", "And what automations say."),
    "answers": ("Answers", "When one comes while its conversation is not open."),
}
"""What a browser may be told while the dashboard is closed."""
GREETINGS = {5: "Good morning", 12: "Good afternoon", 18: "Good evening"}
"""By the hour from which on they are said; the last one until the first."""
OFFLINE_MODEL = "Offline assistant"
MODEL_STATES = {
    "none": ("No model", "warn"),
    "offline": ("Offline", ""),
    "down": ("Does not answer", "danger"),
    "shaky": ("Had trouble", "warn"),
    "healthy": ("Healthy", "good"),
}
"""What its chip says, and in which tone."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

TOOL_SENTENCES = {
    "exec": "Ran {what}",
    "process": "Looked after a running command",
    "code_run": "Ran some code",
    "read": "Read {what}",
    "write": "Wrote {what}",
    "edit": "Changed {what}",
    "apply_patch": "Changed several files",
    "ls": "Looked into the folder {what}",
    "find": "Looked for files: {what}",
    "grep": "Searched files for “{what}”",
    "find_tools": "Looked for tools: {what}",
    "memory_search": "Searched memory for “{what}”",
    "memory_get": "Read in memory: {what}",
    "remember": "Remembered: {what}",
    "forget": "Forgot: {what}",
    "web_search": "Searched the web for “{what}”",
    "web_fetch": "Read the page {what}",
    "browser": "Used the browser",
    "home": "Looked at the home",
    "get_state": "Looked at {what}",
    "call_service": "Did {what} at home",
    "schedule": "Worked on the schedule",
    "cron": "Worked on the schedule",
    "calendar": "Looked at the calendar",
    "notify": "Sent a notification",
    "calculator": "Computed {what}",
    "image": "Looked at a picture",
    "skill": "Read the skill {what}",
    "rss": "Read the feed {what}",
    "ask_user": "Asked a person",
    "ask_secret": "Asked for {what}",
    "sessions_spawn": "Gave a task to a helper",
    "subagents": "Looked after its helpers",
    "sessions_list": "Looked at the conversations",
    "sessions_history": "Read another conversation",
    "sessions_search": "Searched conversations for “{what}”",
    "sessions_send": "Wrote into another conversation",
    "session_status": "Checked how it stands itself",
}
"""What a call of a tool did, in words; `{what}` is the argument that says most."""

AUTOMATION_STATES = {"on": "on", "off": "off", "unavailable": "unavailable"}
AUTOMATION_FILTERS = {
    "all": "All",
    "on": "On",
    "off": "Off",
    "unavailable": "Unavailable",
    "failing": "Failing",
}
MODES = {
    "single": "one run at a time",
    "restart": "restarts when triggered",
    "queued": "runs queue",
    "parallel": "runs in parallel",
}
OUTCOMES = {
    "running": "Running",
    "finished": "Done",
    "stopped": "Stopped early",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "timed_out": "Took too long",
    "denied": "Not approved",
    "interrupted": "Interrupted",
}
NOT_RUN_REASONS = {
    "conditions": "a condition was not met",
    "paused": "it had paused itself",
    "mode": "it was running already",
    "rate_limit": "it had run often enough",
    "budget": "its budget was spent",
    "missed": "it was missed and skipped",
    "error": "something could not be evaluated",
}
STEP_STATES = {
    "done": "Done",
    "running": "Running",
    "failed": "Failed",
    "refused": "Did not hold",
    "unreached": "Not reached",
}
CARD_LISTS = {
    "triggers": "When",
    "trigger": "When",
    "conditions": "Only if",
    "condition": "Only if",
    "actions": "Then",
    "action": "Then",
    "if": "If",
    "and": "All of",
    "or": "Any of",
    "not": "None of",
    "then": "Then",
    "else": "Otherwise",
    "sequence": "Do",
    "fields": "Fields",
    "steps": "Steps",
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
    "curated": "Long-term memory",
    "people": "People",
    "shared": "Shared",
    "groups": "Groups",
    "imported": "Imported notes",
    "extra": "Further folders",
    "transcripts": "Conversations",
    "other": "More",
}
MEMORY_AREAS = {
    "private": "Visible only to you and your own conversations.",
    "shared": "Visible to everyone in this home.",
    "person": "Visible to the person it belongs to, and to you here.",
    "group": "Visible in that group only.",
}
MEMORY_SCORES = {"score": "Score", "vector_score": "By meaning", "text_score": "By word"}
MEMORY_ENGINES = {
    "vectors": "by meaning",
    "keywords": "by word",
    "grep": "through the files themselves",
    "latest": "the newest entries",
}
MEMORY_FACTORS = {
    "recency": "how recent it is",
    "diverse": "unlike those above it",
}
MEMORY_REASONS = {
    "add": "Remembered",
    "edit": "Edited",
    "tidy": "Tidied up",
    "import": "Imported",
    "undo": "Undone",
    "note": "Written after a conversation",
    "forget": "Forgotten",
}
MEMORY_FACTS = {
    "files": "Files",
    "chunks": "Passages",
    "waiting": "Passages waiting for a vector",
    "refused": "Passages whose vector failed",
    "synced_ms": "Last compared with the files",
    "size_bytes": "Size of the index",
    "rss_bytes": "Memory of the index worker",
    "changes": "Changes that are kept",
}
MEMORY_TRUST = {"yes": "From this home", "no": "Written by others"}
MEMORY_TOLD = {
    "added": "Remembered.",
    "known": "Already remembered.",
    "replaced": "Remembered, and the old entry is struck.",
    "not_replaced": "Remembered. No old entry matched, so none was struck.",
    "saved": "Saved.",
    "deleted": "The file is deleted. It can be restored under Changes.",
    "undone": "Undone.",
    "standing": "Reminder added.",
    "removed": "Removed.",
    "ticked": "Ticked off. It is kept under “Done”.",
    "nothing_said": "Say what to forget: fill in at least one field.",
}

SCRIPT_TEXTS = (
    "Setting",
    "Sent",
    "The push service answered with {status}.",
    "This browser does not permit notifications here: allow them in its settings for this page.",
    "No notifications come to this browser yet.",
    "Notifications come to this browser.",
    "{name}: place {at} of {count}, {list}",
    "All lines",
    "That did not work",
    "The hub cannot be reached now.",
    "Time",
    "{time} left",
    "Agent",
    "Ask: {text}",
    "Device",
    "Page",
    "1 change",
    "{count} changes",
    "Copied",
    "Remove {name}",
    "Search",
    "Search or do",
    "Undo",
    "Undone.",
    "Done again.",
    "No changes.",
    "Saved. The change is in force.",
    "hours",
    "h",
    "minutes",
    "min",
    "seconds",
    "s",
    "before",
    "after",
    "before or after",
    "Automation",
    "Blueprint",
    "Conversation",
    "Memory",
    "Memory file",
    "Message",
    "New automation",
    "New incognito conversation",
    "New script",
    "Reload the configuration",
    "Remember something",
    "Script",
    "Sign out",
    "Close",
    "Discard",
    "Find",
    "Form or YAML",
    "Fold the side bar",
    "Keyboard shortcuts",
    "Discard mine and load the file",
    "New conversation",
    "No results.",
    "Reconnecting…",
    "Replace",
    "Overwrite with mine",
    "Save anyway",
    "Save the file",
    "Saving…",
    "Sign in",
    "Signed out. Reload the page to sign in.",
    "Stop",
    "Text of {file}",
    "The file changed meanwhile. Nothing was saved; your text is still here.",
    "The hub cannot be reached right now.",
    "The hub cannot be reached right now. Your text is kept in this browser.",
    "The hub was updated. Reload the page when it suits you.",
    "The message was refused.",
    "Take back: {text}",
    "This browser cannot read aloud.",
    "{name} is no picture and no text.",
    "{name} is too large.",
    "This is your unsaved draft.",
    "Write a message",
    "You are signed out. Sign in in another tab, then save again. Your text is kept in this browser.",
    "Your text is kept in this browser.",
    "all",
    "next",
    "previous",
    "replace",
    "No words were heard.",
    "The browser does not give this page the microphone.",
    "It was broken off.",
    "It was said.",
    "Speak now…",
    "“{text}”, in {seconds} s",
    "Understanding…",
    "Speaking",
    "Browsers give the microphone only to pages with https, and to those of the machine itself.",
)
