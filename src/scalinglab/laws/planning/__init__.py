"""What to run: questions with a number for an answer, the next runs, compute-optimal sizes."""
