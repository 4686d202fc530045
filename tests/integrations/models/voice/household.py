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
CHINESE = {
    "打开厨房的灯": "da3 kai1 chu2 fang2 de5 deng1",
    "关掉所有的灯": "guan1 diao4 suo3 you3 de5 deng1",
    "设置一个十分钟的定时器": "she4 zhi4 yi2 ge4 shi2 fen1 zhong1 de5 ding4 shi2 qi4",
    "定时器还剩多少时间": "ding4 shi2 qi4 hai2 sheng4 duo1 shao3 shi2 jian1",
    "明天天气怎么样": "ming2 tian1 tian1 qi4 zen3 me5 yang4",
    "把牛奶加到购物清单": "ba3 niu2 nai3 jia1 dao4 gou4 wu4 qing1 dan1",
    "七点叫我起床": "qi1 dian3 jiao4 wo3 qi3 chuang2",
    "播放一些音乐": "bo1 fang4 yi1 xie1 yin1 yue4",
    "把音乐停下来": "ba3 yin1 yue4 ting2 xia4 lai2",
    "前门锁了吗": "qian2 men2 suo3 le5 ma5",
    "把后门锁上": "ba3 hou4 men2 suo3 shang4",
    "关上卧室的窗帘": "guan1 shang4 wo4 shi4 de5 chuang1 lian2",
    "这里太冷了": "zhe4 li3 tai4 leng3 le5",
    "把暖气调到二十一度": "ba3 nuan3 qi4 diao4 dao4 er4 shi2 yi1 du4",
    "今天我有什么安排": "jin1 tian1 wo3 you3 shen2 me5 an1 pai2",
    "晚上提醒我给妈妈打电话": "wan3 shang4 ti2 xing3 wo3 gei3 ma1 ma5 da3 dian4 hua4",
    "下一班公交车几点开": "xia4 yi1 ban1 gong1 jiao1 che1 ji3 dian3 kai1",
    "洗衣机洗完了吗": "xi3 yi1 ji1 xi3 wan2 le5 ma5",
    "开始扫地": "kai1 shi3 sao3 di4",
    "谁在门口": "shui2 zai4 men2 kou3",
    "给我读新闻": "gei3 wo3 du2 xin1 wen2",
    "告诉安娜我会晚到": "gao4 su4 an1 na4 wo3 hui4 wan3 dao4",
    "昨天我问了你什么": "zuo2 tian1 wo3 wen4 le5 ni3 shen2 me5",
    "鸡蛋要煮多久": "ji1 dan4 yao4 zhu3 duo1 jiu3",
    "把书桌上的灯调成蓝色": "ba3 shu1 zhuo1 shang4 de5 deng1 diao4 cheng2 lan2 se4",
    "把灯光调到百分之三十": "ba3 deng1 guang1 diao4 dao4 bai3 fen1 zhi1 san1 shi2",
    "晚安全部关掉": "wan3 an1 quan2 bu4 guan1 diao4",
    "家里有人吗": "jia1 li3 you3 ren2 ma5",
    "打开车库门": "da3 kai1 che1 ku4 men2",
    "把面包从清单里删掉": "ba3 mian4 bao1 cong2 qing1 dan1 li3 shan1 diao4",
    "东京现在几点": "dong1 jing1 xian4 zai4 ji3 dian3",
    "取消明天的闹钟": "qu3 xiao1 ming2 tian1 de5 nao4 zhong1",
    "我今天走了多少步": "wo3 jin1 tian1 zou3 le5 duo1 shao3 bu4",
    "告诉孩子们吃饭了": "gao4 su4 hai2 zi5 men5 chi1 fan4 le5",
    "给花园浇水十五分钟": "gei3 hua1 yuan2 jiao1 shui3 shi2 wu3 fen1 zhong1",
    "有我的快递吗": "you3 wo3 de5 kuai4 di4 ma5",
    "声音小一点": "sheng1 yin1 xiao3 yi4 dian3",
    "哪些窗户开着": "na3 xie1 chuang1 hu4 kai1 zhe5",
    "星期五交电费": "xing1 qi1 wu3 jiao1 dian4 fei4",
    "谢谢没有别的了": "xie4 xie4 mei2 you3 bie2 de5 le5",
}
"""Each with its pinyin, which espeak-ng reads out where it has no Chinese signs."""
PINYIN_VOICE = "cmn-latn-pinyin"
_SIMPLIFIED = str.maketrans(
    "東個麼樂書從們會關幾刪別單臥廚喫後嗎園聲媽簾牀庫開戶掃時機來樣氣沒澆燈點現電給藍設訴話讀誰調謝購費車還這遞裏裡鍾鐘鎖門問間鬧聞飯雞床吃",
    "东个么乐书从们会关几删别单卧厨吃后吗园声妈帘床库开户扫时机来样气没浇灯点现电给蓝设诉话读谁调谢购费车还这递里里钟钟锁门问间闹闻饭鸡床吃",
)
"""Whisper writes either; those of the sentences."""


def words(text: str) -> list[str]:
    """Return the words of a sentence, without what writing alone has."""
    return re.sub(r"[^\w\s]", "", text.lower().replace("%", " percent").replace("°", " degrees")).split()


def signs(text: str) -> list[str]:
    """Return the characters of a Chinese sentence, simplified, with numbers as they are said."""
    said = {"10": "十", "15": "十五", "21": "二十一", "30%": "百分之三十", "7点": "七点", "5": "五"}
    text = text.translate(_SIMPLIFIED)
    for number, word in said.items():
        text = text.replace(number, word)
    return re.findall(r"\w", text)


def errors(meant: list[str], heard: list[str]) -> int:
    """Return how many words are wrong, too many or missing: the smallest number of edits."""
    row = list(range(len(heard) + 1))
    for position, word in enumerate(meant, 1):
        before, row[0] = row[0], position
        for at, other in enumerate(heard, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (word != other))
    return row[-1]
