"""Test error against training examples: twelve small networks at once, and a power law through them."""

import scalinglab as sl

settings = [
    {
        "model": "mlp",
        "dataset": "digits",
        "n_data": n,
        "steps": 150,
        "batch_size": 32,
        "seed": seed,
        "checkpoints_per_decade": 4,
    }
    for n in (60, 120, 240, 480)
    for seed in range(3)
]
curves = sl.train.run_many(settings)
best = curves.best("test_error").average("seed")
for row in best.frame.groupby("n_data")[["test_error", "norm"]].mean().itertuples():
    print(f"n_data {row.Index:4d}   best test error {row.test_error:.3f}   at norm {row.norm:.4g}")
law = sl.laws.fit("power_law", *best.frame.groupby("n_data")["test_error"].mean().reset_index().to_numpy().T)
print(f"test error ~ n_data^-{law.exponent:.2f}")
