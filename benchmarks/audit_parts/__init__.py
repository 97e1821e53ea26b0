"""Sets of tables for `benchmarks/audit.py`, each committed before the audit first read it."""
