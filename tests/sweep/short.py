"""A runner that really trains, and keeps states so often that killed runs go on from them."""

from scalinglab.sweep.training import *  # noqa: F403  all functions of a runner but `work`
from scalinglab.train.engine import train_into


def work(settings, store, experiment=None, device=None, group=()):
    train_into(store, settings, group or settings, experiment=experiment, device="cpu", save_every=0.1)
