"""What every package uses: whole files, lazy names, old names, progress, phases, words for numbers.

Nothing here knows of curves, networks or laws.
"""
