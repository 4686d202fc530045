"""The model providers: each folder turns the requests of the hub into those of one kind of model, and its answers back.

Retries, failover, prices and the choice of a model are not made here but in hub/models.
"""
