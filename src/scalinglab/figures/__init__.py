"""Matplotlib figures from curves and laws."""
