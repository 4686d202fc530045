"""What the tools of the hub are called and do, in words for people; a model reads their descriptions instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.phrases import Phrase, phrase

TOOL_TEXTS: Mapping[str, tuple[Phrase, Phrase]] = {
    "agents_list": (phrase("List agents"), phrase("Sees which other agents there are.")),
    "apply_patch": (phrase("Change several files"), phrase("Changes, moves and deletes several files at once.")),
    "ask_secret": (phrase("Ask for a secret"), phrase("Asks you for a key or password, and never sees it.")),
    "ask_user": (phrase("Ask you"), phrase("Asks you a question in the middle of its work.")),
    "browser": (phrase("Use the browser"), phrase("Opens web pages, clicks and types in them.")),
    "announce": (phrase("Announce"), phrase("Says something aloud in rooms.")),
    "calculator": (phrase("Calculate"), phrase("Computes numbers exactly.")),
    "calendar": (phrase("Calendar"), phrase("Looks at the events of your calendars, and adds some.")),
    "call_service": (phrase("Call a service"), phrase("Does anything that this home offers, by its exact name.")),
    "canvas": (phrase("Canvas"), phrase("Shows you a page that it made.")),
    "code_run": (phrase("Run code"), phrase("Runs Python in a sandbox without a network.")),
    "edit": (phrase("Edit a file"), phrase("Replaces pieces of a file.")),
    "exec": (phrase("Run a command"), phrase("Runs programs on this computer or in a sandbox, by your rules.")),
    "find": (phrase("Find files"), phrase("Finds files by their names.")),
    "find_tools": (phrase("Find tools"), phrase("Finds the tool for what is to be done.")),
    "forget": (phrase("Forget"), phrase("Removes what it remembered, when you ask for it.")),
    "gateway": (phrase("The hub itself"), phrase("Says how the hub is, checks its configuration, and restarts it.")),
    "get_state": (phrase("Look at the home"), phrase("Reads what devices and sensors say.")),
    "timer": (phrase("Timers in rooms"), phrase("Sets timers and alarms that ring where they were said.")),
    "why": (phrase("Find out why"), phrase("Says why a device changed, or why an automation did not run.")),
    "grep": (phrase("Search in files"), phrase("Finds lines in files.")),
    "home": (phrase("Control the home"), phrase("Switches lights, blinds, locks, heating and more.")),
    "hub_docs": (phrase("Read the manual"), phrase("Reads the documentation of Homarus.")),
    "image": (phrase("Look at pictures"), phrase("Has a model that sees look at pictures.")),
    "ls": (phrase("List a folder"), phrase("Sees which files are in a folder.")),
    "mail": (phrase("Mailbox"), phrase("Searches and reads the mailbox, and sends mail.")),
    "memory_get": (phrase("Read memory"), phrase("Reads on in what was remembered.")),
    "memory_search": (phrase("Search memory"), phrase("Finds what was remembered.")),
    "message": (phrase("Send messages"), phrase("Sends text, files, polls and reactions beside its answer.")),
    "nodes": (phrase("Phones and computers"), phrase("Takes pictures, shows notices and more on your devices.")),
    "notify": (phrase("Notify"), phrase("Sends a notification where you set one up.")),
    "process": (phrase("Running commands"), phrase("Looks after commands that go on in the background.")),
    "read": (phrase("Read a file"), phrase("Reads texts, pictures and PDFs.")),
    "read_result": (phrase("Read on"), phrase("Reads the rest of a long result.")),
    "remember": (phrase("Remember"), phrase("Keeps something for later conversations.")),
    "rss": (phrase("Read feeds"), phrase("Reads the newest items of an RSS or Atom feed.")),
    "schedule": (phrase("Reminders and plans"), phrase("Reminds you, and does things later.")),
    "session_status": (phrase("How it stands"), phrase("Knows the time, its model, and what it costs.")),
    "sessions_history": (phrase("Read a conversation"), phrase("Reads what was said in another conversation.")),
    "sessions_list": (phrase("List conversations"), phrase("Sees which conversations there are.")),
    "sessions_search": (phrase("Search conversations"), phrase("Finds what was said earlier.")),
    "sessions_send": (phrase("Write to a conversation"), phrase("Asks another conversation or agent.")),
    "sessions_spawn": (phrase("Give a task to a helper"), phrase("Lets a helper work in the background.")),
    "show_widget": (phrase("Show a widget"), phrase("Shows a chart or a small page in the chat.")),
    "skill": (phrase("Read a skill"), phrase("Reads how something is done.")),
    "skill_propose": (phrase("Propose a skill"), phrase("Proposes how to do a task next time; you decide.")),
    "standing_intent": (phrase("Standing reminders"), phrase("Reminds you whenever a topic comes up.")),
    "subagents": (phrase("Look after helpers"), phrase("Sees, stops and steers its helpers.")),
    "tts": (phrase("Speak"), phrase("Says something in a voice message.")),
    "use_tool": (phrase("Use a found tool"), phrase("Calls a tool that it found.")),
    "web_fetch": (phrase("Read a page"), phrase("Reads a page, a PDF or data of the web.")),
    "web_search": (phrase("Search the web"), phrase("Finds pages, with their addresses.")),
    "write": (phrase("Write a file"), phrase("Writes a whole file.")),
}
"""Title and sentence of each, by name. Those of MCP servers, nodes and further integrations speak for themselves."""


def tool_texts(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return `title` and `sentence` of a tool, and whether they are its own words (`own`), in English.

    Args:
        tool: As `tools.catalog` lists it.
    """
    if known := TOOL_TEXTS.get(tool["name"]):
        return {"title": known[0], "sentence": known[1], "own": False}
    return {"title": tool["label"], "sentence": _first_sentence(tool["description"]), "own": True}


def tool_title(name: str) -> str:
    """Return what people call a tool."""
    known = TOOL_TEXTS.get(name)
    return known[0] if known else name


def _first_sentence(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if (end := line.find(". ")) < 0 else line[: end + 1]
