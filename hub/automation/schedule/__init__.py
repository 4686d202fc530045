"""Schedules: their kinds as plain data, the handling of missed occurrences, and the timetable.

Not here: what happens then. Triggers, waits and delays give the timetable a callback; there is no other scheduler.
"""
