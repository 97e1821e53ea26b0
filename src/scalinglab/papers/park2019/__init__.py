"""Park, Sohl-Dickstein, Le, Smith 2019: the effect of network width on SGD and generalization."""

from scalinglab.papers.registry import Entry

ENTRIES = (
    Entry(
        "park2019/fig1",
        "optimal normalized noise scale grows linearly with width (NTK, no batch norm)",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.park2019.searches:fig1",
    ),
    Entry(
        "park2019/fig2",
        "rate search and batch search find the same optimal noise",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.park2019.searches:fig2",
    ),
    Entry(
        "park2019/fig3",
        "rate search and batch search reach the same performance",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.park2019.searches:fig3",
    ),
    Entry(
        "park2019/fig4",
        "the same law under standard parameterization",
        scales=("smoke", "laptop", "paper"),
        make="scalinglab.papers.park2019.searches:fig4",
    ),
    Entry(
        "park2019/fig5",
        "optimal batch/rate ratio against width with batch norm",
        scales=("smoke", "laptop", "paper"),
        make="scalinglab.papers.park2019.searches:fig5",
    ),
    Entry(
        "park2019/fig6",
        "test accuracy against normalized noise scale",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.park2019.searches:fig6",
    ),
    Entry(
        "park2019/fig7",
        "test accuracy against batch/rate with batch norm",
        scales=("smoke", "laptop", "paper"),
        make="scalinglab.papers.park2019.searches:fig7",
    ),
    Entry(
        "park2019/fig8",
        "test accuracy of all search experiments, NTK",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.park2019.searches:fig8",
        judged_in="park2019/fig1",
    ),
    Entry(
        "park2019/fig9",
        "test accuracy against batch size, standard parameterization",
        scales=("smoke", "laptop", "paper"),
        make="scalinglab.papers.park2019.searches:fig9",
        judged_in="park2019/fig4",
    ),
    Entry(
        "park2019/fig10",
        "test accuracy against width * rate / batch, standard parameterization",
        scales=("smoke", "laptop", "paper"),
        make="scalinglab.papers.park2019.searches:fig10",
        judged_in="park2019/fig4",
    ),
    Entry(
        "park2019/fig11",
        "test accuracy of search experiments with batch norm",
        scales=("smoke", "laptop", "paper"),
        make="scalinglab.papers.park2019.searches:fig11",
        judged_in="park2019/fig5",
    ),
    Entry(
        "park2019/fig12",
        "standard Wide ResNets with batch norm",
        scales=("smoke", "laptop", "paper"),
        make="scalinglab.papers.park2019.searches:fig12",
    ),
    Entry(
        "park2019/fig13",
        "regularized Wide ResNets",
        scales=("smoke", "laptop", "paper"),
        make="scalinglab.papers.park2019.searches:fig13",
    ),
    Entry(
        "park2019/fig14",
        "accuracy depends on rate and batch through the noise scale alone",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.park2019.appendices:fig14",
    ),
    Entry(
        "park2019/fig15",
        "failure rate against learning rate",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.park2019.appendices:fig15",
    ),
    Entry(
        "park2019/fig16",
        "standard against NTK parameterization: performance",
        scales=("smoke", "laptop", "paper"),
        make="scalinglab.papers.park2019.appendices:fig16",
    ),
    Entry(
        "park2019/fig17",
        "standard against NTK for bottom-heavy and top-heavy perceptrons",
        scales=("smoke", "laptop", "paper"),
        make="scalinglab.papers.park2019.appendices:fig17",
    ),
    Entry(
        "park2019/critical-width",
        "a width beyond which no batch size reaches the optimal noise and accuracy stops improving",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.park2019.appendices:critical_width",
    ),
    Entry(
        "park2019/table1",
        "epoch and step bounds, NTK without batch norm",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.park2019.appendices:table1",
    ),
    Entry(
        "park2019/table2",
        "epoch and step bounds, standard parameterization",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.park2019.appendices:table2",
        judged_in="park2019/fig4",
    ),
    Entry(
        "park2019/table3",
        "epoch and step bounds, with batch norm",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.park2019.appendices:table3",
    ),
)
