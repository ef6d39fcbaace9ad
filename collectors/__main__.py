"""Entry of ``python -m collectors``."""

import sys

from collectors.cli import main

sys.exit(main())
