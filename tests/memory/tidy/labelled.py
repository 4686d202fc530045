"""Pairs of notes as a home makes them, with how they stand to each other as a person says. Two languages."""

from __future__ import annotations

from typing import NamedTuple

from hub.memory.alike import Relation


class Labelled(NamedTuple):
    """Two notes, the older first.

    Attributes:
        says: What a person says of the two: same, updated, contradicts, different.
        apart: Days between the two.
    """

    says: str
    apart: int
    older: str
    newer: str


SAME = [
    ("Anna is allergic to nuts", "anna is allergic to nuts."),
    ("The boiler was serviced on 12 May", "On 12 May the boiler was serviced"),
    ("We sleep with the windows open", "We sleep with the window open"),
    ("Dinner is at 7 o'clock", "Dinner is at seven o'clock"),
    ("The spare key is at Mrs Weber's", "- The spare key is at Mrs Weber's!"),
    ("安娜对坚果过敏", "安娜对坚果过敏。"),
    ("备用钥匙在王阿姨家", "备用钥匙在王阿姨家！"),
    ("Wi-Fi 叫 HomeNet", "Wi-Fi 叫 HomeNet。"),
    ("Anna is allergic to nuts", "Anna is allergic to all kinds of nuts"),
    ("Ben plays the cello in the school orchestra", "Ben plays the cello in the orchestra of the school"),
]
CONTRADICTS = [
    ("The boiler was serviced on 12 May", "The boiler was serviced on 14 May"),
    ("Anna's birthday is on 3 June", "Anna's birthday is on 4 June"),
    ("Birthday of Hanna: 3 June", "Birthday of Hanna: 13 July"),
    ("The garden gate code is 4711", "The garden gate code is 4712"),
    ("PIN of the alarm: 2580", "PIN of the alarm: 2581"),
    ("Dr Weber's phone is 0421 555 1234", "Dr Weber's phone is 0421 555 1243"),
    ("The Wi-Fi is called HomeNet24", "The Wi-Fi is called HomeNet25"),
    ("The plumber is called Kessler", "The plumber is called Meyer"),
    ("Anna's dentist is Dr Weber", "Anna's dentist is Dr Klein"),
    ("The rent is 900 euros", "The rent is 950 euros"),
    ("Ben gets 5 euros pocket money a week", "Ben gets 6 euros pocket money a week"),
    ("The boiler man comes on Tuesday", "The boiler man comes on Thursday"),
    ("Piano lesson is on Monday at 16:00", "Piano lesson is on Monday at 17:00"),
    ("Paper bins go out on Wednesdays", "Paper bins go out on Fridays"),
    ("Anna eats meat", "Anna does not eat meat"),
    ("The dog may sleep on the sofa", "The dog may not sleep on the sofa"),
    ("The cat takes 2 tablets a day", "The cat takes 3 tablets a day"),
    ("We have 3 bicycles in the cellar", "We have 4 bicycles in the cellar"),
    ("We leave for Italy on 12 July", "We leave for Italy on 14 July"),
    ("The insurance number is 88-1234", "The insurance number is 88-1243"),
    ("安娜的生日是6月3日", "安娜的生日是6月4日"),
    ("花园门的密码是4711", "花园门的密码是4712"),
    ("锅炉5月12日保养过", "锅炉5月14日保养过"),
    ("水管工周二来修锅炉", "水管工周四来修锅炉"),
    ("钢琴课在周一下午4点", "钢琴课在周一下午5点"),
    ("房租是每月3000元", "房租是每月3200元"),
    ("奶奶的电话是13812345678", "奶奶的电话是13812345687"),
    ("水管工叫王强", "水管工叫李明"),
    ("安娜吃肉", "安娜不吃肉"),
    ("我们家有三台空调", "我们家有两台空调"),
    ("Wi-Fi 密码是 sunny123", "Wi-Fi 密码是 sunny124"),
    ("小猫每天吃两片药", "小猫每天吃三片药"),
]
UPDATED = [
    ("Anna lives in Bonn", "Anna lives in Kiel"),
    ("Anna works at Siemens", "Anna works at Bosch"),
    ("Ben likes olives", "Ben no longer likes olives"),
    ("The bins go out on Monday", "From now on the bins go out on Thursday"),
    ("Our car is a red Golf", "Our car is a blue Skoda"),
    ("We decided to paint the hall blue", "We decided to paint the hall green"),
    ("Mum's doctor is Dr Sommer", "Mum's doctor is Dr Winter"),
    ("安娜住在波恩", "安娜住在基尔"),
    ("本喜欢吃橄榄", "本不再喜欢吃橄榄"),
    ("我们决定把走廊刷成蓝色", "我们决定把走廊刷成绿色"),
    ("车险在平安", "车险在太平洋"),
    ("家庭医生叫陈华", "家庭医生叫赵敏"),
]
DIFFERENT = [
    ("client 2 note 6", "client 2 note 7"),
    ("Paid invoice 12", "Paid invoice 13"),
    ("Invoice 12 is due at the end of the month", "Invoice 13 is due at the end of the month"),
    ("Invoice no. 2026-114 from the roofer", "Invoice no. 2026-115 from the roofer"),
    ("Watched episode 6 with Ben", "Watched episode 7 with Ben"),
    ("Episode 6 was boring", "Episode 7 was boring"),
    ("Ben has read chapter 4 of the Hobbit", "Ben has read chapter 5 of the Hobbit"),
    ("The tenant of flat 3 plays the drums", "The tenant of flat 4 plays the drums"),
    ("Flat 3 has the small cellar", "Flat 4 has the small cellar"),
    ("Room 204 has a broken lamp", "Room 206 has a broken lamp"),
    ("The key to box 12 is red", "The key to box 13 is red"),
    ("Radiator 1 is bled", "Radiator 2 is bled"),
    ("Bus 24 stops at the school", "Bus 26 stops at the school"),
    ("Camera C1 watches the door", "Camera C2 watches the door"),
    ("Order #1041 has arrived", "Order #1042 has arrived"),
    ("Week 12: garden duty", "Week 13: garden duty"),
    ("Lesson 8 of Ben's Chinese course is hard", "Lesson 9 of Ben's Chinese course is hard"),
    ("Anna weighs 62.4 kg", "Anna weighs 62.1 kg"),
    ("Weight this morning: 81.2", "Weight this morning: 80.9"),
    ("Electricity meter: 45210 kWh", "Electricity meter: 45218 kWh"),
    ("The water meter reads 812.4", "The water meter reads 812.9"),
    ("It is 21 degrees in the nursery", "It is 19 degrees in the nursery"),
    ("Outside temperature 4.5 °C", "Outside temperature -1 °C"),
    ("Blood pressure 128/82", "Blood pressure 131/84"),
    ("Boiler pressure is 1.4 bar", "Boiler pressure is 1.6 bar"),
    ("Milk costs 1.19 euros at Rewe", "Milk costs 1.29 euros at Rewe"),
    ("Petrol is at 1.79", "Petrol is at 1.83"),
    ("The car has 45210 km on the clock", "The car has 45890 km on the clock"),
    ("Grandma's blood sugar is 6.1", "Grandma's blood sugar is 5.8"),
    ("Ben slept 7 hours", "Ben slept 8 hours"),
    ("Oil tank at 62 %", "Oil tank at 58 %"),
    ("Account balance 1,204.50", "Account balance 987.20"),
    ("Ben is 132 cm tall", "Ben is 134 cm tall"),
    ("Ran 5 km in 28 minutes", "Ran 6 km in 33 minutes"),
    ("Walked 8200 steps", "Walked 10400 steps"),
    ("Bought 2 litres of milk", "Bought 3 litres of milk"),
    ("Paid Ben 20 euros for mowing", "Paid Ben 25 euros for mowing"),
    ("Ben was ill on 3 June", "Ben was ill on 5 June"),
    ("Window cleaner came on 3 June", "Window cleaner came on 1 July"),
    ("Parents' evening on 3 June at 19:00", "Parents' evening on 9 September at 19:00"),
    ("The chimney was swept on 12 May 2025", "The chimney was swept on 3 June 2026"),
    ("Anna called", "Anna did not call"),
    ("Ben went to bed at 8", "Ben went to bed at 9"),
    ("The train was 10 minutes late", "The train was 25 minutes late"),
    ("My sister Anna likes tea", "My sister Hanna likes tea"),
    ("The teacher of Anna is Mrs Brandt", "The teacher of Ben is Mrs Brandt"),
    ("Met Anna for coffee", "Met Hanna for coffee"),
    ("Anna's birthday is on 3 June", "Hanna's birthday is on 4 June"),
    ("Shoe size of Anna: 38", "Shoe size of Ben: 43"),
    ("Lunch with Ben at Luigi's", "Lunch with Anna at Luigi's"),
    ("Need 6 eggs", "Need 10 eggs"),
    ("Buy 2 packs of coffee", "Buy 3 packs of coffee"),
    ("The phone number of the dentist is 555 100", "The phone number of the plumber is 555 200"),
    ("The code of the front door is 4711", "The code of the garage is 1147"),
    ("I owe Ben 20 euros", "Ben owes me 20 euros"),
    ("Anna gave Ben the key", "Ben gave Anna the key"),
    ("Flat 3 has 4 rooms", "Flat 4 has 3 rooms"),
    ("Football match on 3 June at 10:00", "Football match on 10 June at 10:00"),
    ("客户2 笔记6", "客户2 笔记7"),
    ("发票12已付", "发票13已付"),
    ("看了第6集", "看了第7集"),
    ("第六课的单词很难", "第七课的单词很难"),
    ("3号楼的电梯坏了", "4号楼的电梯坏了"),
    ("204室漏水", "206室漏水"),
    ("24路公交停学校门口", "26路公交停学校门口"),
    ("体重62.4公斤", "体重62.1公斤"),
    ("今早血压128/82", "今早血压131/84"),
    ("血压是128/82", "血压是131/84"),
    ("电表读数45210度", "电表读数45218度"),
    ("客厅温度21度", "客厅温度19度"),
    ("鸡蛋12块一盒", "鸡蛋13块一盒"),
    ("油价是7.8元", "油价是8.1元"),
    ("水表是812.4", "水表是812.9"),
    ("本睡了7个小时", "本睡了8个小时"),
    ("买了两斤苹果", "买了三斤苹果"),
    ("走了8200步", "走了10400步"),
    ("安娜喜欢喝茶", "汉娜喜欢喝茶"),
    ("安娜的生日是6月3日", "汉娜的生日是6月4日"),
    ("6月3日带小猫去打针", "9月9日带小猫去打针"),
    ("本6月3日生病了", "本6月5日生病了"),
    ("我欠小王20元", "小王欠我20元"),
    ("跟安娜去吃火锅", "跟汉娜去吃火锅"),
]
PAIRS = [
    *(Labelled("same", 2, *each) for each in SAME),
    *(Labelled("contradicts", 5, *each) for each in CONTRADICTS),
    *(Labelled("updated", 30, *each) for each in UPDATED),
    *(Labelled("different", 1, *each) for each in DIFFERENT),
]

RULES_SAY = {
    "same": {Relation.SAME},
    "contradicts": {Relation.CONTRADICTS},
    "updated": {Relation.CONTRADICTS},
    "different": {Relation.DIFFERENT, Relation.SERIES},
}
"""What rules alone are to say of pairs; `UNTOLD` are those of which they say less."""
UNTOLD = {
    "Anna is allergic to all kinds of nuts": Relation.ALIKE,
    "Ben plays the cello in the orchestra of the school": Relation.UNSURE,
    "From now on the bins go out on Thursday": Relation.UNSURE,
    "Our car is a blue Skoda": Relation.DIFFERENT,
    "We decided to paint the hall green": Relation.UNSURE,
    "我们决定把走廊刷成绿色": Relation.UNSURE,
    "车险在太平洋": Relation.DIFFERENT,
    "Football match on 10 June at 10:00": Relation.UNSURE,
    "汉娜喜欢喝茶": Relation.UNSURE,
    "汉娜的生日是6月4日": Relation.UNSURE,
    "小王欠我20元": Relation.UNSURE,
    "跟汉娜去吃火锅": Relation.UNSURE,
}
"""By the newer note."""
