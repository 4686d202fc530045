"""The changes of tidying in the files of a memory: pure rules over their texts.

Reading, asking a model and writing are in `hub/agent/tidy`, the comparison of two entries in `../alike.py`.
"""
