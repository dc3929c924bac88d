"""How long things take and how much memory they need: `python -m experiments` lists what is measured."""
