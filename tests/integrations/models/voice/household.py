"""What people say at home, for measuring how well an engine hears; numbers as Whisper writes them."""

from __future__ import annotations

import re

ENGLISH = (
    "Turn on the light in the kitchen.",
    "Turn off all the lights downstairs.",
    "Set a timer for 10 minutes.",
    "How much time is left on the timer?",
    "What is the weather like tomorrow?",
    "Add milk and eggs to the shopping list.",
    "Wake me up at seven o'clock.",
    "Play some music in the living room.",
    "Stop the music, please.",
    "Is the front door locked?",
    "Lock the back door.",
    "Close the blinds in the bedroom.",
    "It is too cold in here.",
    "Set the heating to 21 degrees.",
    "What is on my calendar today?",
    "Remind me to call my mother tonight.",
    "When does the next bus leave?",
    "Did the washing machine finish?",
    "Start the vacuum cleaner.",
    "Who is at the door?",
    "Read me the news.",
    "Send a message to Anna that I am late.",
    "What did I ask you yesterday?",
    "How long do I have to boil an egg?",
    "Make the lamp on the desk blue.",
    "Dim the lights to 30 percent.",
    "Good night, turn everything off.",
    "Is anybody home?",
    "Open the garage.",
    "Take out the bread from the list.",
    "What time is it in Tokyo?",
    "Cancel my alarm for tomorrow.",
    "How many steps did I walk today?",
    "Tell the children that dinner is ready.",
    "Water the garden for 15 minutes.",
    "Is there any mail for me?",
    "Turn the volume down a little.",
    "Which windows are open?",
    "Pay the electricity bill on Friday.",
    "Thank you, that is all.",
)
CHINESE = (
    "打开厨房的灯",
    "关掉所有的灯",
    "设置一个十分钟的定时器",
    "明天天气怎么样",
    "把牛奶加到购物清单",
    "七点叫我起床",
    "播放一些音乐",
    "前门锁了吗",
    "这里太冷了",
    "晚安",
)


def words(text: str) -> list[str]:
    """Return the words of a sentence, without what writing alone has."""
    return re.sub(r"[^\w\s]", "", text.lower().replace("%", " percent").replace("°", " degrees")).split()


def signs(text: str) -> list[str]:
    """Return the characters of a Chinese sentence."""
    return re.findall(r"\w", text)


def errors(meant: list[str], heard: list[str]) -> int:
    """Return how many words are wrong, too many or missing: the smallest number of edits."""
    row = list(range(len(heard) + 1))
    for position, word in enumerate(meant, 1):
        before, row[0] = row[0], position
        for at, other in enumerate(heard, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (word != other))
    return row[-1]
