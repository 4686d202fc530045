"""The short keys of discovery messages, which are written word by word: `bri_stat_t` is `brightness_state_topic`.

Source: https://www.home-assistant.io/integrations/mqtt/#supported-abbreviations-in-mqtt-discovery-messages
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def _table(text: str) -> dict[str, str]:
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_WORDS = _table("""
    act action  atype automation_type  attr attributes  aux aux  av available  avail available  avty availability
    bat battery  bri brightness  cat category  chrg charging  cla class  cln clean  clr color  clrm color_mode
    cls close  clsd closed  cmd command  cmps components  cod code  cont content  curr current  cur current
    def default  dev device  dir direction  dis disarm  discvry discovery  dly delay  dsp display
    dur duration  ent entity  err error  evt event  exp expire  aft after  fanspd fan_speed  feat features
    flsh flash  frc force  fwd forward  fx effect  hi high  hum humidity  ic icon  ids identifiers  img image
    init initial  inst install  jam jammed  k kelvin  l latest  lev level  lo low  loc locate  lrst last_reset
    lst list  meas measurement  migr migrate  mirs mireds  nite night  o origin  opnd opened  ops options
    opt optimistic  osc oscillation  p platform  paus pause  pct percentage  pic picture  pl payload  pos position
    pow power  pr preset  prc precision  prs press  ptrn pattern  rel release  req required  ret retain  rev reverse
    rng range  rst reset  scl scale  sp spot  spd speed  spds speeds  src source  stat state  strt start
    stpa start_pause  stype subtype  sug suggested  sup support  t topic  tit title  tlng time_long  toff turn_off
    ton turn_on  tpl template  trig trigger  trns transition  tsht time_short  typ types  uniq unique  unlk unlock
    upd update  val value  ver version  whit white
""")
_WHOLE = _table("""
    b_tpl blue_template  cln_t cleaning_topic  cln_tpl cleaning_template  def_ent_id default_entity_id
    dock_t docked_topic  dock_tpl docked_template   e encoding
    en enabled_by_default  g_tpl green_template  hum_cmd_t target_humidity_command_topic
    hum_cmd_tpl target_humidity_command_template  hum_stat_t target_humidity_state_topic
    hum_stat_tpl target_humidity_state_template  hum_state_tpl target_humidity_state_template  img_e image_encoding
    obj_id object_id  pl_arm_custom_b payload_arm_custom_bypass  pl_ret payload_return_to_base  pos reports_position
    r_tpl red_template  rel_s release_summary  rel_u release_url  sup_clrm supported_color_modes
    sup_feat supported_features  sup_vol support_volume_set  temp_step temp_step
""")
_DEVICE = _table("""
    cns connections  cu configuration_url  ids identifiers  mf manufacturer  mdl model  mdl_id model_id
    hw hw_version  sw sw_version  sa suggested_area  sn serial_number
""")
_ORIGIN = _table("sw sw_version  url support_url")
_BEFORE_TEMP = frozenset({"color", "clr", "min", "max"})
"""Behind these words `temp` is the whole word."""


def long_key(key: str) -> str:
    """Return a key of a component written out."""
    if key in _WHOLE:
        return _WHOLE[key]
    words = key.split("_")
    return "_".join(
        "temperature" if word == "temp" and words[place - 1] not in _BEFORE_TEMP else _WORDS.get(word, word)
        for place, word in enumerate(words)
    )


def expand_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a component, or the root of a device's, with all keys written out."""
    found = {long_key(str(key)): value for key, value in config.items()}
    for key, table in (("device", _DEVICE), ("origin", _ORIGIN)):
        if isinstance(found.get(key), dict):
            found[key] = {table.get(str(name), str(name)): value for name, value in found[key].items()}
    availability = found.get("availability")
    if isinstance(availability, dict):
        availability = [availability]
    if isinstance(availability, list):
        found["availability"] = [expand_keys(each) if isinstance(each, dict) else each for each in availability]
    return found
