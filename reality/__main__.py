"""``python -m reality``: see :mod:`reality.cli`."""

import sys

from reality.cli import main

sys.exit(main())
