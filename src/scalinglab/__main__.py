"""``python -m scalinglab`` is the command line."""

from scalinglab.cli import main

main()
