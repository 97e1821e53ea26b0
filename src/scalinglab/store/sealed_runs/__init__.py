"""Finished runs: Parquet files, packs of many runs, the index of a pack, and the folder that holds them."""
