"""The ground floor: events, states, services, schemas, contexts, repairs, clock, tasks and lanes.

It imports nothing else of ours; nothing here knows about chat, models or storage.
"""
