"""The tools of files, as agents see them."""

from __future__ import annotations

from hub.core.schema import All, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.tools.contract import READS_HOME, Annotations, Tool
from hub.tools.parameters import from_schema
from integrations.tools.files.looking import LookingTools
from integrations.tools.files.reading import LINES_DEFAULT, LINES_LIMIT
from integrations.tools.files.searching import MATCHES_LIMIT, PATTERN_LIMIT
from integrations.tools.files.session_files import SessionFiles
from integrations.tools.files.unasked import approval_to_patch, approval_to_write
from integrations.tools.files.writing import WritingTools

GROUP = "files"
TEXT_LIMIT = 2_000_000
EDITS_LIMIT = 100

_PATH = All(string, Length(min=1, max=4_096))
_OLD, _NEW = All(string, Length(min=1, max=TEXT_LIMIT)), All(string, Length(max=TEXT_LIMIT))
_REPLACES = Annotations(open_world=False, owner_only=False, idempotent=True, egress=False)
_CHANGES = Annotations(open_world=False, owner_only=False, egress=False)

READ = Schema(
    {
        Required("path", description="Relative to the workspace."): _PATH,
        Optional("offset", default=1, description="First line, from 1."): All(integer, Range(min=1)),
        Optional("limit", default=LINES_DEFAULT, description="Lines."): All(integer, Range(min=1, max=LINES_LIMIT)),
        Optional("pages", description="Of a PDF, for example 1-3."): All(string, Length(max=20)),
    }
)
WRITE = Schema({Required("path"): _PATH, Required("content"): _NEW})
EDIT = Schema(
    {
        Required("path"): _PATH,
        Optional("old_text", description="As in the file; once."): _OLD,
        Optional("new_text"): _NEW,
        Optional("replace_all", default=False): boolean,
        Optional("edits", description="Several at once, all or none."): All(
            [{Required("old_text"): _OLD, Required("new_text"): _NEW, Optional("replace_all"): boolean}],
            Length(min=1, max=EDITS_LIMIT),
        ),
    }
)
APPLY_PATCH = Schema(
    {
        Required(
            "input",
            description="*** Begin Patch, sections, *** End Patch. Sections: *** Add File: P, then + lines; "
            "*** Delete File: P; *** Update File: P, maybe *** Move to: P, then hunks: @@, lines with space, - or +.",
        ): All(string, Length(min=1, max=TEXT_LIMIT))
    }
)
LS = Schema({Optional("path", default="."): _PATH})
FIND = Schema(
    {
        Required("pattern", description="For example *.md or plans/*."): All(string, Length(min=1, max=200)),
        Optional("path", default="."): _PATH,
        Optional("limit", default=100): All(integer, Range(min=1, max=MATCHES_LIMIT)),
    }
)
GREP = Schema(
    {
        Required("pattern"): All(string, Length(min=1, max=PATTERN_LIMIT)),
        Optional("path", default=".", description="File or directory."): _PATH,
        Optional("glob", description="Only such files, for example *.md."): All(string, Length(min=1, max=200)),
        Optional("literal", default=False, description="The pattern is plain text."): boolean,
        Optional("ignore_case", default=False): boolean,
        Optional("limit", default=100): All(integer, Range(min=1, max=MATCHES_LIMIT)),
    }
)


def file_tools(files: SessionFiles) -> list[Tool]:
    """Return the tools."""
    looking, writing = LookingTools(files), WritingTools(files)
    return [
        Tool(
            "read",
            "Read a text, an image or a PDF of the workspace.",
            from_schema(READ),
            looking.read,
            GROUP,
            READS_HOME,
        ),
        Tool(
            "write",
            "Write a whole file of the workspace; an existing one is replaced.",
            from_schema(WRITE),
            writing.run,
            GROUP,
            _REPLACES,
            approval_to_write,
            writing.preview,
        ),
        Tool(
            "edit",
            "Replace exact pieces of text in a file of the workspace.",
            from_schema(EDIT),
            writing.run,
            GROUP,
            _CHANGES,
            approval_to_write,
            writing.preview,
        ),
        Tool(
            "apply_patch",
            "Add, update, move and delete several files of the workspace by one patch, all or none.",
            from_schema(APPLY_PATCH),
            writing.run,
            GROUP,
            _CHANGES,
            approval_to_patch,
            writing.preview,
        ),
        Tool("ls", "List a directory of the workspace.", from_schema(LS), looking.ls, GROUP, READS_HOME),
        Tool("find", "Find files of the workspace by name.", from_schema(FIND), looking.find, GROUP, READS_HOME),
        Tool(
            "grep",
            "Find lines in files of the workspace by a regular expression (Python) or plain text.",
            from_schema(GREP),
            looking.grep,
            GROUP,
            READS_HOME,
        ),
    ]
