"""The tests mirror the tree they test; benchmarks and faults stand beside them.

Nothing here is imported by the program.
"""
