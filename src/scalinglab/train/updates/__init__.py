"""How parameters are updated: rules on stacked parameters, schedules, and optimizers of the user's own."""
