"""Experiments on autonmf, run from a checkout and not installed; `python -m experiments` lists them."""
