"""Traces in object stores and behind URLs: listed, fetched into a local folder, and read there."""

from tb_dataplugin.remote.address import Place, Url, place
from tb_dataplugin.remote.mirror import Mirror, user_mirror
from tb_dataplugin.remote.storage import RemoteTrace, Storage, is_trace

__all__ = ["Mirror", "Place", "RemoteTrace", "Storage", "Url", "is_trace", "place", "user_mirror"]
