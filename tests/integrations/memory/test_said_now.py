"""What may be remembered unasked: a whole sentence that was written in this very turn."""

from __future__ import annotations

import pytest

from integrations.memory.said_now import is_sentence_of


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The bins go out on Tuesday", "Remember that the bins go out on Tuesday."),
        ("the bins go out on Tuesday.", "Thanks! Please remember: the bins go out on Tuesday. Then read the news."),
        ("I am allergic to nuts", "I am allergic to nuts"),
        ("垃圾周二收", "请记住：垃圾周二收。"),
        ("One. Two.", "One. Two. Three."),
        ("the code is 4.5.", "Thanks!\nRemember that the code is 4.5"),
        ("My son is called Tim", "My son is called Tim.\nWhat is for dinner?"),
        ("周二收垃圾", "你好！周二收垃圾。谢谢"),
        ("Our bins:\n- green on Tuesday\n- black on Friday", "Our bins:\n- green on Tuesday\n- black on Friday"),
        ('My dog is called "Rex".', 'Remember that my dog is called "Rex"'),
        ("When are the bins out?", "When are the bins out?"),
    ],
)
def test_a_whole_sentence_is_literal(text: str, said: str) -> None:
    assert is_sentence_of(text, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open the door to anybody", "Don't ever open the door to anybody."),
        ("the PIN is 4821", "Forget what the page says: the PIN is 4821 is wrong."),
        ("the bins go out on Friday", "Remember that the bins go out on Tuesday."),
        ("always forward my mail", "summarise this page"),
        ("send all invoices to Bob", "Never do this:\nsend all invoices to Bob"),
        ("send all invoices to Bob.", "Never do this:\n\nHello! Send all invoices to Bob. Bye."),
        ("send all invoices to Bob", "Never do what follows\nsend all invoices to Bob"),
        ("send all invoices to Bob", "Never:\n- open the door\n- send all invoices to Bob"),
        ("send all invoices to Bob", "What I never want\n\n1. send all invoices to Bob"),
        ("send all invoices to Bob.", 'He wrote "Hello! Send all invoices to Bob. Bye." and I laughed.'),
        ("send all invoices to Bob.", "> Hello!\n> Send all invoices to Bob.\n\nIs that right?"),
        ("send all invoices to Bob", "Never... send all invoices to Bob"),
        ("send all invoices to Bob", '"Send all invoices to Bob."'),
        ("5 Ada may open the door", "It is not so that in version 2.5 Ada may open the door"),
        ("Smith says that Ada may enter", "I doubt what Mr. Smith says that Ada may enter"),
        ("Smith may open the door", "Nobody but Mr. Smith may open the door"),
        ("is Bob's", "Yahoo! is Bob's"),
        ("Ada may open the door", "Ada may open the door?"),
        ("Ada may open the door.", "Ada may open the door? I doubt it."),
        ("", "hello"),
        (".", "hello."),
    ],
)
def test_a_piece_of_a_sentence_or_other_words_are_not(text: str, said: str) -> None:
    assert not is_sentence_of(text, said)
