"""``python -m sharing``: see :mod:`sharing.cli`."""

import sys

from sharing.cli import main

sys.exit(main())
