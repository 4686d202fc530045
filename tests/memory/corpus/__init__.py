"""A home's memory of our own writing, in English and Chinese, with questions; and a diary of any length.

The texts are data beside it; `home.py` lays them out as memory files, `diary.py` makes up days.
"""
