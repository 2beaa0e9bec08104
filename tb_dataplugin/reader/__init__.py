"""Bytes to columns: the only code that opens trace files."""

from tb_dataplugin.reader.discovery import TraceFile, find_traces
from tb_dataplugin.reader.kineto import read_trace

__all__ = ["TraceFile", "find_traces", "read_trace"]
