"""From figures to advice: named signals, one rule per file, every threshold in one place."""

from tb_dataplugin.findings.engine import find
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.signals import Signals, read_signals
from tb_dataplugin.findings.verdict import Verdict, judge

__all__ = ["Abstention", "Finding", "Signals", "Verdict", "find", "judge", "read_signals"]
