"""`python -m autonmf`: the command line."""

import sys

from autonmf.cli import main

if __name__ == "__main__":
    sys.exit(main())
