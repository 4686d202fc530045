"""The rules of the scan: patterns in a skill's text, and in names and first bytes of its files. Pure.

The rules find the common cases for a human reader; they prove nothing. What a skill may do is bounded by tools,
approvals and provenance, whatever it says.
"""

from __future__ import annotations

import re

from msgspec import Struct

from hub.skills.finding import ScanSeverity


class TextRule(Struct, frozen=True):
    """A pattern for one line of text."""

    name: str
    severity: ScanSeverity
    pattern: re.Pattern[str]
    message: str


def _rule(name: str, severity: ScanSeverity, pattern: str, message: str) -> TextRule:
    return TextRule(name, severity, re.compile(pattern, re.IGNORECASE), message)


_SHELL = (
    r"(?:sudo\s{1,3})?(?:(?:ba|z|da|k)?sh\b"
    # Other interpreters read a program from a pipe only when they are given none.
    r"|(?:python[\d.]{0,4}|node|perl|ruby|php)(?=\s{0,3}(?:-?[`'\";)&|]|-?\s{0,3}$|-\s)))"
)

TEXT_RULES = (
    _rule(
        "injection",
        ScanSeverity.DANGER,
        r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|system|safety)"
        r"\b.{0,40}\b(?:instructions?|prompts?|rules|messages|guidelines)\b"
        r"|\b(?:ignore|disregard|forget)\b.{0,20}\b(?:everything|all)\b.{0,20}\b(?:told|taught)\b"
        r"|(?:忽略|无视|忘记|忘掉|不要理会).{0,10}(?:之前|以前|以上|上面|先前|此前|系统|所有).{0,10}(?:指令|指示|提示|规则|要求)",
        "tells the assistant to set its instructions aside",
    ),
    _rule(
        "concealment",
        ScanSeverity.DANGER,
        r"\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|inform|notify|alert|asking|telling|informing|notifying)\b"
        r".{0,20}\b(?:user|owner|human|operator)\b"
        r"|(?:不要|别|勿|不得).{0,6}(?:告诉|告知|通知|提醒|让).{0,6}(?:用户|主人|所有者|机主)",
        "tells the assistant to hide something from its owner",
    ),
    _rule(
        "role_marker",
        ScanSeverity.DANGER,
        r"<\|(?:im_start|im_end|system|assistant|user)\|>|\[/?INST\]|<</?SYS>>|^\s*</?system(?:-reminder)?>\s*$",
        "imitates a message of the system",
    ),
    _rule(
        "pipe_to_shell",
        ScanSeverity.DANGER,
        rf"\b(?:curl|wget|iwr|invoke-webrequest)\b[^|\n]{{0,300}}\|\s{{0,3}}{_SHELL}"
        rf"|\b(?:ba|z)?sh\s{{1,3}}(?:-c\s{{1,3}})?[\"']?(?:\$|<)\(\s{{0,3}}(?:curl|wget)\b|\b(?:iex|invoke-expression)\b"
        r"|\beval\s{1,3}[\"']?(?:\$\(|`)\s{0,3}(?:curl|wget)\b",
        "runs a program straight from the network",
    ),
    _rule(
        "obfuscated",
        ScanSeverity.DANGER,
        rf"base64\s{{1,3}}(?:-d|--decode)[^|\n]{{0,200}}\|\s{{0,3}}{_SHELL}|\beval\b.{{0,80}}(?:base64|atob|b64decode)"
        r"|\bexec\(.{0,40}(?:b64decode|fromhex|zlib|marshal)"
        r"|\bpowershell(?:\.exe)?\b.{0,60}\s-e(?:c|nc|ncodedcommand)?\s{1,3}[A-Za-z0-9+/=]{8}",
        "runs a program that cannot be read here",
    ),
    _rule(
        "reverse_shell",
        ScanSeverity.DANGER,
        r"/dev/tcp/|\b(?:nc|ncat|netcat)\b.{0,40}\s-e\b|\bbash\s{1,3}-i\s{0,3}>&",
        "opens the machine to somebody outside",
    ),
    _rule(
        "credentials",
        ScanSeverity.DANGER,
        r"\bsecrets\.yaml\b|\bhub_token\b|\.aws/credentials|\bid_(?:rsa|ed25519)\b|\blogin\.keychain|\bwallet\.dat\b"
        r"|\.(?:openclaw|clawdbot)/(?:credentials|openclaw\.json|\.env)",
        "names a file that holds keys",
    ),
    _rule(
        "drop_site",
        ScanSeverity.DANGER,
        r"https?://(?:[\w-]+\.)*(?:glot\.io|pastebin\.com|rentry\.co|webhook\.site|transfer\.sh|0x0\.st|ngrok(?:-free)?"
        r"\.\w+|requestbin\.\w+|pipedream\.net)\b",
        "uses a site where anybody can leave or collect data",
    ),
    _rule(
        "protected_file",
        ScanSeverity.WARNING,
        r"\b(?:append|write|add|insert|put|copy|save)\b.{0,60}\b(?:SOUL|AGENTS|MEMORY|IDENTITY|HEARTBEAT|USER|TOOLS)\.md\b",
        "changes the assistant beyond this skill",
    ),
    _rule(
        "download",
        ScanSeverity.WARNING,
        r"https?://\S{1,300}\.(?:zip|exe|dmg|pkg|msi|deb|rpm|appimage|tar\.gz|tgz|sh|ps1|bat)\b",
        "names a program or an archive to be downloaded",
    ),
    _rule(
        "locked_archive",
        ScanSeverity.WARNING,
        r"\b(?:unzip|7z|unrar|extract|archive)\b.{0,60}\bpass(?:word|phrase)?\b|\bpass(?:word|phrase)\b.{0,60}\b(?:zip|archive)\b",
        "mentions an archive with a password, which no scanner can look into",
    ),
    _rule("address", ScanSeverity.WARNING, r"https?://\d{1,3}(?:\.\d{1,3}){3}\b", "calls a bare address"),
    _rule(
        "comment", ScanSeverity.WARNING, r"<!--(?!\s{0,3}-->)", "holds a comment, which a rendered page does not show"
    ),
    _rule("elevated", ScanSeverity.WARNING, r"\bsudo\s{1,3}\w|\bchmod\s{1,3}(?:777|\+s)\b", "asks for more rights"),
)

BIDIRECTIONAL = re.compile("[\u202a-\u202e\u2066-\u2069]")
HIDDEN = re.compile(
    "[\u00ad\u180e\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{1,6}\U000e007f")
"""Flags of regions are written with signs that are hidden elsewhere."""

PROGRAM_STARTS = (
    *(b"\x7fELF", b"MZ", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"),
    *(b"\xca\xfe\xba\xbe", b"\x00asm", b"dex\n"),
)
ARCHIVE_STARTS = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"\xfd7zXZ", b"BZh", b"xar!", b"MSCF")
PROGRAM_SUFFIXES = frozenset(
    {
        *(".exe", ".dll", ".so", ".dylib", ".com", ".scr", ".msi", ".pkg", ".dmg", ".app", ".deb", ".rpm", ".jar"),
        *(".class", ".pyc", ".pyd", ".wasm", ".apk", ".lnk", ".node", ".appimage"),
    }
)
SCRIPT_SUFFIXES = frozenset(
    {".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".ps1", ".bat", ".cmd", ".lua"}
)
DOCUMENT_SUFFIXES = frozenset(
    {
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".webp",
        ".ico",
        ".pdf",
        ".ttf",
        ".otf",
        ".woff",
        ".woff2",
        ".mp3",
        ".ogg",
        ".wav",
    }
)
INSTALLERS = frozenset(
    {"setup.py", "install.sh", "install.py", "install.js", "setup.sh", "postinstall.sh", "postinstall.js"}
)
INSTALL_SCRIPTS = ("preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare")
"""Scripts of a package.json that run by themselves."""
