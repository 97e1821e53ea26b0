"""A package beside scalinglab: a network, data, an optimizer, a form, a reader of logs, a paper."""
