"""What an attacker tries, over whole registries: every route, method, tool, service, channel event and pattern.

What belongs to one part is tested with that part.
"""
