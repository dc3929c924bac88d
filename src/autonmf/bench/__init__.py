"""Benchmarks: ours and its peers side by side, in one process, medians of several runs."""
