"""Twenty SKILL.md of different make, in the styles people write them in, with what is to become of each."""

from __future__ import annotations

from msgspec import Struct

from hub.skills.gates import GateFacts

PROGRAMS = {"curl", "git", "ffmpeg", "tmux"}
VARIABLES = {"PATH", "HOME", "NOTES_DIR"}
SETTINGS = {"hub.name", "mqtt.broker"}
FACTS = GateFacts("linux", PROGRAMS.__contains__, VARIABLES.__contains__, SETTINGS.__contains__)


class Make(Struct, frozen=True):
    """One way of writing a SKILL.md.

    Attributes:
        folder: Its folder.
        text: The file.
        name: How it is called.
        lacks: What is told to be missing; empty when it is eligible, None when it is broken.
        noted: A word of the notes about it.
    """

    folder: str
    text: str
    name: str
    lacks: str | None = ""
    noted: str = ""


def _skill(front: str, body: str = "# Title\n\nDo it well.\n") -> str:
    return f"---\n{front.strip()}\n---\n\n{body}"


MAKES = (
    Make("weather", _skill("name: weather\ndescription: Tell the weather."), "weather"),
    Make(
        "wttr",
        _skill(
            "name: wttr\ndescription: Forecasts without a key.\nhomepage: https://example.org/:help\n"
            'metadata: {"clawdbot":{"emoji":"🌤️","requires":{"bins":["curl"]}}}'
        ),
        "wttr",
    ),
    Make(
        "sonos",
        _skill(
            "name: sonos\ndescription: Play music.\nmetadata:\n  {\n    "
            '"openclaw":\n      {\n        "emoji": "🔊",\n        "requires": { "bins": ["sonos-cli"] },\n'
            '        "install": [{ "id": "go", "kind": "go", "bins": ["sonos-cli"] },],\n'
            "      },\n  }"
        ),
        "sonos",
        "programs: sonos-cli",
    ),
    Make(
        "business-case",
        _skill(
            'name: business-case\nversion: "1.0"\ndescription: Genera un caso de negocio\nmetadata:\n  openclaw:\n'
            "    requires:\n      env:\n        - CRM_URL\n        - CRM_KEY\n      bins:\n        - curl\n        - jq"
        ),
        "business-case",
        "programs: jq; environment variables: CRM_URL, CRM_KEY",
    ),
    Make(
        "notes-mac",
        _skill(
            "name: notes-mac\ndescription: Notes on a Mac.\n"
            'metadata: {"openclaw":{"os":["darwin"],"always":true,"requires":{"bins":["memo"]}}}'
        ),
        "notes-mac",
        "runs on: darwin",
    ),
    Make(
        "everywhere",
        _skill(
            "name: everywhere\ndescription: Always there.\n"
            'metadata: {"openclaw":{"os":["darwin","linux","win32"],"always":true,"requires":{"bins":["none-such"]}}}'
        ),
        "everywhere",
    ),
    Make(
        "coder",
        _skill(
            "name: coder\ndescription: Let another program write code.\n"
            'metadata: {"openclaw":{"requires":{"anyBins":["codex","claude","tmux"]}}}'
        ),
        "coder",
    ),
    Make(
        "no-coder",
        _skill(
            "name: no-coder\ndescription: Let another program write code.\n"
            'metadata: {"openclaw":{"requires":{"anyBins":["codex","claude"]}}}'
        ),
        "no-coder",
        "one of the programs: codex, claude",
    ),
    Make(
        "bridge",
        _skill('name: bridge\ndescription: MQTT.\nmetadata: {"openclaw":{"requires":{"config":["mqtt.broker"]}}}'),
        "bridge",
    ),
    Make(
        "chatter",
        _skill(
            'name: chatter\ndescription: Chat.\nmetadata: {"openclaw":{"requires":{"config":["channels.chat.token"]}}}'
        ),
        "chatter",
        "settings: channels.chat.token",
    ),
    Make(
        "keyed",
        _skill(
            "name: keyed\ndescription: Needs a key.\n"
            'metadata: {"openclaw":{"primaryEnv":"KEYED_API_KEY","requires":{"env":["KEYED_API_KEY"]}}}'
        ),
        "keyed",
        "environment variables: KEYED_API_KEY",
    ),
    Make(
        "pdf-tools",
        _skill(
            "name: pdf-tools\ndescription: |\n  Read and fill PDF files.\n  Use when somebody sends one.\n"
            "license: Proprietary. LICENSE.txt has complete terms\ncompatibility: Needs Python 3.11\n"
            "allowed-tools: Read, Write, Bash(git:*)\nmetadata:\n  author: someone\n  version: '2.1'"
        ),
        "pdf-tools",
    ),
    Make(
        "folded",
        _skill("name: folded\ndescription: >-\n  One thing\n  on two lines.\nallowed-tools:\n  - Read\n  - Grep"),
        "folded",
    ),
    Make(
        "colon",
        _skill("name: colon\ndescription: Track tasks. Use when: (1) asked, (2) due: today\nuser-invocable: false"),
        "colon",
        noted="line by line",
    ),
    Make(
        "code_review",
        _skill('name: "Code Reviewer"\ndescription: "Review code."\ndisable-model-invocation: true'),
        "code-reviewer",
        noted="is read as code-reviewer",
    ),
    Make("unnamed", _skill("description: Takes the name of its folder."), "unnamed", noted="is read as unnamed"),
    Make(
        "extract",
        _skill(
            "name: extract\ndescription: Extract text.\nuser-invocable: true\ncommand-dispatch: tool\n"
            "command-tool: extract_text\ncommand-arg-mode: raw\nmetadata:\n  openclaw:\n    requires:\n"
            "      bins: []\n      env: []\n      config: []"
        ),
        "extract",
    ),
    Make(
        "windows",
        "\ufeff---\r\nname: windows\r\ndescription: Written on Windows.\r\n---\r\n\r\n# Title\r\n",
        "windows",
    ),
    Make("chinese", _skill("name: chinese\ndescription: 蒙古文翻译, 写邮件\ntags: [a, b]\nstatus: draft"), "chinese"),
    Make("prose", "# No front matter\n\nJust text.\n", "prose", lacks=None),
)
