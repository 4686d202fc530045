"""Whether words name anything: greetings and thanks need no recall and no note. Pure."""

from __future__ import annotations

from hub.memory.words import words_asked

SMALL_TALK = frozenset(
    words_asked(
        "hi hello hey hiya howdy yo good morning afternoon evening night bye goodbye later soon welcome sorry thanks "
        "thank thx cheers ok okay k yes yeah yep yup no nope nah sure fine great nice cool perfect super wow lol haha "
        "hmm oh ah well right exactly really maybe stop wait go on continue more again next why test ping "
        "你好 您好 早上好 下午好 晚上好 晚安 早安 谢谢 多谢 感谢 好的 好 行 可以 没事 "
        "没有 不用 不客气 对 对的 嗯 哦 哈哈 再见 拜拜 继续"
    )
)


def naming_words(text: str) -> list[str]:
    """Return the words of a text that name something, folded as in memory; none for small talk."""
    return [word for word in words_asked(text) if word not in SMALL_TALK]
