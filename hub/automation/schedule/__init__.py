"""When something comes due: kinds of schedules as plain data, what a missed one means, the one timetable that waits.

Not here: what happens then. Triggers, waits and delays hand the timetable a callback; there is no other scheduler.
"""
