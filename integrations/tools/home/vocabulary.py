"""What people call kinds of entities, places and states, in English and Chinese. Tables, and tests of states."""

from __future__ import annotations

from collections.abc import Callable, Mapping

KINDS: Mapping[str, str] = {
    "alarm_control_panel": "alarm security 警报 报警器 安防",
    "automation": "automation 自动化",
    "binary_sensor/battery": "battery 电池 电量",
    "binary_sensor/battery_charging": "battery charging 充电",
    "binary_sensor/carbon_monoxide": "carbon monoxide co 一氧化碳",
    "binary_sensor/connectivity": "connection connectivity internet network 网络 连接",
    "binary_sensor/door": "door 门",
    "binary_sensor/garage_door": "garage door 车库门 门",
    "binary_sensor/gas": "gas 燃气 煤气",
    "binary_sensor/lock": "lock 锁",
    "binary_sensor/moisture": "leak water moisture flood wet 漏水",
    "binary_sensor/motion": "motion movement 移动 动静",
    "binary_sensor/occupancy": "occupancy presence 有人",
    "binary_sensor/opening": "opening 开合",
    "binary_sensor/plug": "plug 插头",
    "binary_sensor/power": "power 电源",
    "binary_sensor/presence": "presence 有人",
    "binary_sensor/problem": "problem 问题 故障",
    "binary_sensor/safety": "safety 安全",
    "binary_sensor/smoke": "smoke 烟雾",
    "binary_sensor/sound": "sound noise 声音",
    "binary_sensor/tamper": "tampering 破坏",
    "binary_sensor/update": "update 更新",
    "binary_sensor/vibration": "vibration 震动",
    "binary_sensor/window": "window 窗户",
    "button": "button 按钮",
    "calendar": "calendar appointment event agenda 日历 日程 安排",
    "camera": "camera 摄像头",
    "climate": "thermostat heating heater radiator climate ac air conditioner conditioning aircon hvac temperature "
    "temp warm cold hot 空调 暖气 地暖 恒温器 温度",
    "counter": "counter count 计数器",
    "cover": "blind shade curtain shutter cover drape awning 窗帘 百叶窗 卷帘 遮阳帘",
    "cover/door": "door 门",
    "cover/garage": "garage door 车库门 门",
    "cover/gate": "gate 大门 门",
    "cover/window": "window 窗户",
    "device_tracker": "phone tracker 手机",
    "fan": "fan 风扇",
    "group": "group 组",
    "humidifier": "humidifier dehumidifier 加湿器 除湿机",
    "input_boolean": "mode toggle helper 模式",
    "input_button": "button 按钮",
    "input_datetime": "time date 时间 日期",
    "input_number": "number 数值",
    "input_select": "mode select 模式 选项",
    "input_text": "text 文本",
    "lawn_mower": "mower lawnmower 割草机",
    "light": "light lamp lighting lit 灯 灯光",
    "lock": "lock door 锁 门锁 门",
    "media_player": "speaker tv television media player music radio play song 电视 音箱 音乐 播放器",
    "person": "person people somebody anybody someone anyone who family 人 谁",
    "remote": "remote 遥控器",
    "scene": "scene 场景",
    "schedule": "schedule 时间表",
    "script": "script 脚本",
    "select": "mode select 模式 选项",
    "sensor/battery": "battery level charge 电量 电池",
    "sensor/carbon_dioxide": "co2 carbon dioxide 二氧化碳",
    "sensor/carbon_monoxide": "co carbon monoxide 一氧化碳",
    "sensor/current": "current 电流",
    "sensor/energy": "energy consumption 电能 用电",
    "sensor/gas": "gas 燃气 煤气",
    "sensor/humidity": "humidity humid 湿度",
    "sensor/illuminance": "brightness bright illuminance 亮度 光照",
    "sensor/moisture": "moisture 水分",
    "sensor/pm25": "pm25 particulate air quality 空气质量",
    "sensor/power": "power 功率",
    "sensor/precipitation": "rain rainfall precipitation 降雨",
    "sensor/pressure": "pressure 气压",
    "sensor/temperature": "temperature temp warm cold hot 温度",
    "sensor/voltage": "voltage 电压",
    "sensor/water": "water 用水",
    "sensor/wind_speed": "wind speed 风速",
    "siren": "siren 警笛",
    "sun": "sun sunrise sunset dawn dusk dark daylight rise set 太阳 日出 日落 天黑 天亮",
    "switch": "switch plug outlet socket 开关 插座",
    "timer": "timer countdown 计时器 定时器 倒计时",
    "todo": "list todo 清单 列表 待办",
    "update": "update 更新",
    "vacuum": "vacuum robot cleaner hoover 扫地机 吸尘器 机器人",
    "valve": "valve 阀门 阀",
    "water_heater": "water heater boiler 热水器",
    "weather": "weather forecast outside rain 天气 预报",
    "zone": "zone 区域",
}
"""What people call the kinds of entities: a domain, or a domain and a device class."""
ALSO: Mapping[str, str] = {
    word: words.split()[0]
    for words in (
        "light lamp lighting bulb illumination 灯 灯光 电灯 灯具 照明",
        "window 窗 窗户 窗子",
        "door 门 房门 门窗",
        "lock 锁 门锁",
        "curtain drape 窗帘 帘子",
        "blind 百叶窗",
        "shutter 卷帘",
        "fan 风扇 电扇 吊扇",
        "switch 开关",
        "plug outlet socket 插座 插头",
        "tv telly television 电视 电视机",
        "speaker 音箱 音响 喇叭 扬声器",
        "ac aircon 空调",
        "heating heater 暖气 暖风",
        "thermostat 恒温器",
        "temperature temp 温度 气温 室温",
        "humidity 湿度",
        "camera 摄像头 摄像机 监控",
        "vacuum hoover 扫地机 扫地机器人 吸尘器",
        "valve 阀门 阀",
        "timer countdown 计时器 定时器 倒计时",
        "scene 场景",
        "fridge refrigerator 冰箱",
        "kettle 水壶 热水壶",
        "kitchen 厨房",
        "bedroom 卧室",
        "living lounge 客厅",
        "dining 餐厅 饭厅",
        "bathroom 浴室 卫生间 洗手间",
        "toilet 厕所",
        "hall hallway corridor 走廊 过道",
        "entrance entryway 玄关 门厅",
        "office study 书房 办公室",
        "garage 车库",
        "garden yard 花园 院子",
        "balcony 阳台",
        "upstairs 楼上",
        "downstairs 楼下",
        "basement cellar 地下室",
        "nursery 儿童房",
        "guest 客人 访客",
    )
    for word in words.split()
}
"""Words that are compared as the first of their line, in both languages: a name in one answers to the other."""
_LITTLE = """
the a an my our your room when in on at of to is are be there it its and for with still any all every each
which what how many much single everything anything something now please whole entire me us do does that device thing
的 里 在 都 把 个 是 有 着 了 吗 呢 么 没 还 将 给 请 和 中 上
所有 全部 全都 一切 每个 每间 每一个 任何 哪些 什么 多少 几个 有没有 还有 现在 里面 东西 设备 家里 屋里 房间里 房间 目前
"""
LITTLE = frozenset(_LITTLE.split())
"""Words that tell nothing of what is meant."""
EVERY = frozenset(
    {
        "all",
        "every",
        "each",
        "everything",
        "anything",
        "any",
        "所有",
        "全部",
        "全都",
        "一切",
        "每个",
        "都",
        "任何",
        "device",
        "thing",
        "设备",
        "东西",
    }
)
EVERYTHING = frozenset({"light", "switch", "fan", "media_player", "humidifier", "climate"})
"""Domains of what is on or off when "everything" or "anything" is said without a kind."""
OF_ROOMS = EVERYTHING | {"cover", "lock", "sensor", "binary_sensor"}
"""Domains of which each room has its own."""
OF_HOUSES = frozenset({"garage", "garage_door", "gate"})
"""Device classes of which it has not."""
LEVELS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (lambda level: level > 0, "upstairs 楼上"),
    (lambda level: level <= 0, "downstairs 楼下"),
    (lambda level: level < 0, "basement cellar 地下室 地下"),
)
"""What people call floors by their level, whatever their names."""

_OPENINGS = frozenset({"door", "garage_door", "window", "opening"})
_ON = frozenset(
    {"on", "playing", "buffering", "cleaning", "mowing", "heat", "cool", "heat_cool", "auto", "dry", "fan_only"}
)
_AT_HOME = frozenset({"person", "device_tracker"})
_NO_STATE = frozenset({"unknown", "unavailable"})

State = tuple[str, str, str]
"""A domain, a device class and a state."""


def _is_open(domain: str, kind: str, state: str) -> bool:
    is_sensor = domain == "binary_sensor" and kind in _OPENINGS
    return (
        state == "on" if is_sensor else state in ("open", "opening") and domain in ("cover", "valve", "lock", "group")
    )


def _is_closed(domain: str, kind: str, state: str) -> bool:
    is_sensor = domain == "binary_sensor" and kind in _OPENINGS
    return state == "off" if is_sensor else state in ("closed", "closing")


def _is_low(domain: str, kind: str, state: str) -> bool:
    if kind != "battery":
        return False
    return state == "on" if domain == "binary_sensor" else state.replace(".", "", 1).isdigit() and float(state) <= 20


HOLDS: Mapping[str, Callable[[str, str, str], bool]] = {
    "on": lambda domain, kind, state: state in _ON or (domain in ("cover", "valve") and state == "open"),
    "off": lambda domain, kind, state: (
        state in ("off", "standby", "idle", "docked") or (domain in ("cover", "valve") and state == "closed")
    ),
    "open": _is_open,
    "closed": _is_closed,
    "locked": lambda domain, kind, state: (
        state == "locked" or (domain == "binary_sensor" and kind == "lock" and state == "off")
    ),
    "unlocked": lambda domain, kind, state: (
        state in ("unlocked", "open")
        if domain == "lock"
        else domain == "binary_sensor" and kind == "lock" and state == "on"
    ),
    "home": lambda domain, kind, state: domain in (*_AT_HOME, "group") and state == "home",
    "away": lambda domain, kind, state: domain in _AT_HOME and state != "home" and state not in _NO_STATE,
    "playing": lambda domain, kind, state: state == "playing",
    "paused": lambda domain, kind, state: state == "paused",
    "running": lambda domain, kind, state: state in _ON or state == "active",
    "detected": lambda domain, kind, state: domain == "binary_sensor" and state == "on",
    "clear": lambda domain, kind, state: domain == "binary_sensor" and state == "off",
    "low": _is_low,
    "connected": lambda domain, kind, state: kind == "connectivity" and state == "on",
    "charging": lambda domain, kind, state: kind == "battery_charging" and state == "on",
    "plugged": lambda domain, kind, state: kind == "plug" and state == "on",
    "unavailable": lambda domain, kind, state: state == "unavailable",
}
"""Whether an entity of a domain and a device class is what people call so."""
STATES: Mapping[str, str] = {
    word: state
    for state, words in {
        "on": "on lit 开着 亮着 亮 开 开启 打开着 开了",
        "off": "off 关着 关 关了 熄灭",
        "open": "open opened 打开 打开了 敞开 没关 没关好",
        "closed": "closed shut 关上 关上了 关闭 关闭着 关好",
        "locked": "locked 锁着 锁了 锁上 锁上了 锁好 上锁",
        "unlocked": "unlocked 没锁 未锁 没上锁 解锁",
        "home": "home 在家",
        "away": "away 外出 不在家 出门",
        "playing": "playing 播放 在播 在放 正在播放",
        "paused": "paused 暂停",
        "running": "running active 运行 运转 在运行",
        "detected": "detected triggered wet leaking tripped occupied 触发 被触发 检测到 漏水了",
        "clear": "clear dry undetected 正常",
        "low": "low empty 低 没电 低电量",
        "connected": "connected online 在线 已连接",
        "charging": "charging 充电 在充电",
        "plugged": "plugged",
        "unavailable": "unavailable offline unreachable 离线 断开",
    }.items()
    for word in words.split()
}
"""The states in words."""
OF_STATE: Mapping[str, frozenset[str]] = {
    "on": EVERYTHING,
    "off": EVERYTHING,
    "running": EVERYTHING | {"vacuum", "timer", "lawn_mower"},
    "detected": frozenset({"binary_sensor"}),
    "clear": frozenset({"binary_sensor"}),
}
"""Domains that a state is about where no kind is said."""
COLORS: Mapping[str, tuple[int, int, int]] = {
    word: color
    for words, color in {
        "red 红色 红": (255, 0, 0),
        "green 绿色 绿": (0, 128, 0),
        "blue 蓝色 蓝": (0, 0, 255),
        "yellow 黄色 黄": (255, 255, 0),
        "orange 橙色 橘色 橙": (255, 165, 0),
        "purple 紫色 紫": (128, 0, 128),
        "violet 紫罗兰": (238, 130, 238),
        "pink 粉色 粉红色 粉": (255, 192, 203),
        "white 白色 白": (255, 255, 255),
        "turquoise 青绿色": (64, 224, 208),
        "cyan 青色": (0, 255, 255),
        "magenta 品红色 洋红色": (255, 0, 255),
        "brown 棕色 褐色": (165, 42, 42),
        "teal 蓝绿色": (0, 128, 128),
        "gold 金色": (255, 215, 0),
        "black 黑色": (0, 0, 0),
    }.items()
    for word in words.split()
}
WHITES: Mapping[str, int] = {
    word: kelvin
    for words, kelvin in {
        "warm,warm white,暖白,暖白色,暖光,暖色": 2700,
        "cool,cool white,cold white,冷白,冷白色,冷光,冷色": 5500,
        "daylight,日光,日光色": 6500,
        "neutral,neutral white,自然光": 4000,
    }.items()
    for word in words.split(",")
}
"""Whites in kelvin."""
