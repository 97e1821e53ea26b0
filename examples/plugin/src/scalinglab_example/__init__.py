"""A plugin for scalinglab: one of each kind that can be added."""
