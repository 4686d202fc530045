"""Benchmarks: the real hub in its own process, against a scripted model server in another. They assert no time.

`script/bench` runs them all and prints one table; `script/bench NAME …` runs some.
"""
