"""Families that whoever designs a rule does not look at."""
