"""Learning rate, batch size and other settings at the next size, from searches at smaller ones."""
