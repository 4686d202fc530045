"""The checks of the audit, by what they look at; `hub.doctor.audit.registry` lists them.

Integrations bring further ones in an `audit.py` of their own.
"""
