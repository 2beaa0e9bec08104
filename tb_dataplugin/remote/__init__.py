"""Traces in object stores and behind URLs: listed, fetched into a local folder, and read there."""

from tb_dataplugin.remote.address import Place, Url, place
from tb_dataplugin.remote.fetching import Source, all_fetched, fetched, growing, listed, named
from tb_dataplugin.remote.mirror import Mirror, user_mirror
from tb_dataplugin.remote.storage import RemoteTrace, Storage

__all__ = [
    "Mirror",
    "Place",
    "RemoteTrace",
    "Source",
    "Storage",
    "Url",
    "all_fetched",
    "fetched",
    "growing",
    "listed",
    "named",
    "place",
    "user_mirror",
]
