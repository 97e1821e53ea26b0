"""Pools of workers: their common interface, this machine's processes, a Ray cluster, jobs of Slurm."""
