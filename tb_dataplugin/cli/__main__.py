import sys

from tb_dataplugin.cli.main import main

sys.exit(main())
