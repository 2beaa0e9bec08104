"""Analysed captures on disk, so that a second look at a file is instant. Never in a log directory; safe to delete."""

from tb_dataplugin.cache.identity import Fingerprint, cache_key, fingerprint
from tb_dataplugin.cache.store import Store, user_store

__all__ = ["Fingerprint", "Store", "cache_key", "fingerprint", "user_store"]
