"""Sweep a small network over data sizes and seeds, and read the result.

The grid is run by worker processes into a store; what is done is not done again.
"""

import scalinglab as sl


def main():
    grid = sl.sweep.Grid(
        {
            "model": "mlp",
            "dataset": "digits",
            "width": 0.25,
            "batch_size": 32,
            "steps": 60,
            "learning_rate": 0.01,
        },
        axes={"n_data": {"largest": 1280, "ratio": 4, "count": 3}},  # nested: 80, 320, 1280
        seeds=2,
        experiment="example",
    )
    store = sl.Store("runs")
    print(sl.sweep.make_plan(grid, store).summary())

    curves = sl.sweep.run(grid, store, workers=1)
    print(store)
    assert len(sl.sweep.run(grid, store).runs) == len(grid.settings())  # nothing left to do

    last = curves.select(step=60).average("seed").frame.sort_values("n_data")
    for row in last.itertuples():
        print(f"{row.n_data:5d} examples: test error {row.test_error:.3f} ± {row.test_error_stderr:.3f}")
    record = store.records()[curves.runs[0]]
    print(f"made by scalinglab {record.meta['version']} on {record.meta['cpu']} in {record.seconds:.1f} s")


if __name__ == "__main__":
    main()
