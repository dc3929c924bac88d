"""`python -m autonmf.cli`: the command line without its script."""

import sys

from autonmf.cli import main

if __name__ == "__main__":
    sys.exit(main())
