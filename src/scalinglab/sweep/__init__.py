"""Grids of settings and the engines that run them."""
