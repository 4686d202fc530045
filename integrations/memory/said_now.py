"""The sender's words in this turn, if trusted: remembering them verbatim needs no approval."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hub.agent.taint.authorship import is_said_by, speaker
from hub.core.lazy_pattern import LazyPattern
from hub.sessions.entry import user_entry_id
from hub.sessions.store import SessionStore
from hub.tools.contract import ToolCall

_ENDS = LazyPattern(
    r"(?:(?<=[!?])|(?<=[^\W\d_]{2}\.)(?<!\b(?:Mr|Ms|Dr|St|No|Nr|vs)\.)(?<!\b(?:Mrs|etc|Inc|Ltd|Gen|Sen)\.)"
    r"(?<!\b(?:Prof|Capt)\.))\s+|(?<=[。！？])\s*|\n\s*\n\s*",
    re.IGNORECASE,
)
_WHOLE = LazyPattern(r"[\"“”„«»「」『』‘`]|(?<!\w)'|^\s*(?:>|[-*•+]\s|\d+[.)])|[:：]\s*$", re.MULTILINE)
"""A quotation, a list, or a line that tells what follows it: no sentence of such a text is taken out of it."""
_LEAD = LazyPattern(
    r"(?:(?:please|also|and|ok|okay)[ ,]+)*"
    r"(?:(?:remember|note|keep in mind|don['’]t forget)(?: for me)?(?:[,:]? that\b|[:,])?"
    r"|请?(?:你)?(?:帮我)?(?:记住|记得|记一下|记下|别忘了)[，,：:]?)\s*",
    re.IGNORECASE,
)


class SaidNow:
    """Knows the words of the turn that a tool is called in.

    Args:
        sessions: The conversations, with the messages that people wrote.
    """

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions

    async def covers(self, call: ToolCall) -> bool:
        """Whether a call of `remember` stores a sentence of this turn as written, and does nothing else."""
        arguments = call.arguments
        if arguments.get("replaces") is not None or arguments.get("shared"):
            return False
        session = self._sessions.get(call.session_key)
        if session is None:
            return False
        transcript = await self._sessions.open_transcript(session)
        entry = transcript.get(user_entry_id(call.run_id))
        if entry is None or entry.message is None or not is_said_by(entry, speaker(call.context.authority)):
            return False
        return is_sentence_of(arguments["text"], entry.message.text)


def is_sentence_of(text: str, said: str) -> bool:
    """Whether a text is a whole sentence, or several, of a message; "remember that" before it does not count.

    A piece of a sentence may mean something else than the sentence.
    """
    wanted = [_bare(each) for each in _sentences(text)]
    written = [_bare(each) for each in (*_sentences(said), said)]
    return any(wanted) and set(filter(None, wanted)) <= {each for one in written for each in (one, _without_lead(one))}


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for end in () if _WHOLE.search(text) else _ENDS.finditer(text):
        if not text[end.end() : end.end() + 1].islower():  # it goes on: "Yahoo! is", "etc. and"
            yield text[start : end.start()]
            start = end.end()
    yield text[start:]


def _bare(sentence: str) -> str:
    return " ".join(sentence.split()).strip(" .!。！").casefold()


def _without_lead(sentence: str) -> str:
    lead = _LEAD.match(sentence)
    return sentence[lead.end() :] if lead is not None else sentence
