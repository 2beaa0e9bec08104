"""The console command ``tb-dataplugin``."""

from tb_dataplugin.cli.main import main

__all__ = ["main"]
