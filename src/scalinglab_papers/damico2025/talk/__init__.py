"""What the talk on damico2025 adds: earlier work that it reviews, and checks of how robust the laws are."""
