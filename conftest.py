"""The command line needs libraries that may be missing; its modules are then not looked into for examples."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("typer") and find_spec("rich") else ["src/autonmf/cli"]
