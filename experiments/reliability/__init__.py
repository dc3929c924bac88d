"""Faults brought about on purpose, and what happens: `python -m experiments.reliability --help`."""
