"""From results to advice: named signals, one rule per file, every threshold in one place."""

from tb_dataplugin.findings.advised import advised_settings
from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.findings.finding import NamedAbstention, NamedFinding
from tb_dataplugin.findings.judgement import Judgement, judge
from tb_dataplugin.findings.sentences import Sentences
from tb_dataplugin.findings.verdict import Verdict

__all__ = [
    "Evidence",
    "Judgement",
    "NamedAbstention",
    "NamedFinding",
    "Sentences",
    "Verdict",
    "advised_settings",
    "judge",
]
