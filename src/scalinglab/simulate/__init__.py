"""The solvable models at finite size, drawn at random and trained on this machine."""
