"""What happens at a checkpoint: evaluation, measurements, rows, states for resuming."""
