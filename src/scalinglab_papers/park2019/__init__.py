"""Park, Sohl-Dickstein, Le, Smith 2019: the effect of network width on SGD and generalization."""

from scalinglab.studies.registry import UP_TO_PAPER, Entry, listed

# GPU hours of scale paper: the run-steps of its settings over 100,000 a second for perceptrons (267,000 were
# measured at 64 to 512 units), and over assumed rates of 10,000 for LeNets and 200 for Wide ResNets
ENTRIES = listed(
    __name__,
    Entry("fig1", "optimal normalized noise scale grows linearly with width (NTK, no batch norm)",
          make="searches:fig1", scales=UP_TO_PAPER, gpu_hours=6400),
    Entry("fig2", "rate search and batch search find the same optimal noise",
          make="searches:fig2", scales=UP_TO_PAPER, gpu_hours=6400),
    Entry("fig3", "rate search and batch search reach the same performance",
          make="searches:fig3", scales=UP_TO_PAPER, gpu_hours=6400),
    Entry("fig4", "the same law under standard parameterization",
          make="searches:fig4", scales=UP_TO_PAPER, gpu_hours=8000),
    Entry("fig5", "optimal batch/rate ratio against width with batch norm",
          make="searches:fig5", scales=UP_TO_PAPER, gpu_hours=3400),
    Entry("fig6", "test accuracy against normalized noise scale",
          make="searches:fig6", scales=UP_TO_PAPER, gpu_hours=3100),
    Entry("fig7", "test accuracy against batch/rate with batch norm",
          make="searches:fig7", scales=UP_TO_PAPER, gpu_hours=3400),
    Entry("fig8", "test accuracy of all search experiments, NTK",
          make="searches:fig8", scales=UP_TO_PAPER, judged_in="park2019/fig1", gpu_hours=6400),
    Entry("fig9", "test accuracy against batch size, standard parameterization",
          make="searches:fig9", scales=UP_TO_PAPER, judged_in="park2019/fig4", gpu_hours=8000),
    Entry("fig10", "test accuracy against width * rate / batch, standard parameterization",
          make="searches:fig10", scales=UP_TO_PAPER, judged_in="park2019/fig4", gpu_hours=8000),
    Entry("fig11", "test accuracy of search experiments with batch norm",
          make="searches:fig11", scales=UP_TO_PAPER, judged_in="park2019/fig5", gpu_hours=3400),
    Entry("fig12", "standard Wide ResNets with batch norm",
          make="searches:fig12", scales=UP_TO_PAPER, gpu_hours=2800),
    Entry("fig13", "regularized Wide ResNets", make="searches:fig13", scales=UP_TO_PAPER, gpu_hours=2800),
    Entry("fig14", "accuracy depends on rate and batch through the noise scale alone",
          make="appendices:fig14", scales=UP_TO_PAPER, gpu_hours=3),
    Entry("fig15", "failure rate against learning rate",
          make="appendices:fig15", scales=UP_TO_PAPER, gpu_hours=110),
    Entry("fig16", "standard against NTK parameterization: performance",
          make="appendices:fig16", scales=UP_TO_PAPER, gpu_hours=3200),
    Entry("fig17", "standard against NTK for bottom-heavy and top-heavy perceptrons",
          make="appendices:fig17", scales=UP_TO_PAPER, gpu_hours=15),
    Entry("critical-width", "a width beyond which no batch size reaches the optimal noise and accuracy "
          "stops improving", make="appendices:critical_width", scales=UP_TO_PAPER, gpu_hours=5),
    Entry("table1", "epoch and step bounds, NTK without batch norm",
          make="appendices:table1", laptop_minutes=0.02),
    Entry("table2", "epoch and step bounds, standard parameterization",
          make="appendices:table2", judged_in="park2019/fig4"),
    Entry("table3", "epoch and step bounds, with batch norm", make="appendices:table3", laptop_minutes=0.02),
)  # fmt: skip
