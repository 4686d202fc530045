"""One module a page: each turns the hub's objects into plain data for a template, and a form into a call.

No HTML is written here and no rule decided: pages hold what is shown, templates how, the hub what is allowed.
"""
