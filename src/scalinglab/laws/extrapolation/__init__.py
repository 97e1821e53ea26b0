"""Where a learning curve goes: forecasters, and the average of them that backtests choose."""
