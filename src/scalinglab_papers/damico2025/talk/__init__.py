"""The talk on damico2025: the earlier work that it reviews, and checks of how robust the laws are."""
