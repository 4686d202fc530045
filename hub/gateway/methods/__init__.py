"""The gateway's methods, one module per family; each checks its parameters and calls the part that does the work.

How requests arrive and answers leave is in `hub.gateway`, not here.
"""
