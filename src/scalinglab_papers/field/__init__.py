"""Questions that are asked before and while a network is trained, judged on runs that others published."""

from scalinglab.studies import Entry, listed

ENTRIES = listed(
    __name__,
    Entry("hyperparameters", "learning rate and batch size at the largest sizes of the Step Law's searches, "
          "from searches of a tenth of their compute (Li and others 2025)", make="searches:hyperparameters",
          laptop_minutes=0.3),
    Entry("mixtures", "the loss of data mixtures ranked by small runs, and proposals inside their intervals "
          "(RegMix, Liu and others 2024)", make="mixtures:mixtures", laptop_minutes=3.0),
    Entry("scores", "scores of the largest size of two studies from smaller ones (Gadre and others 2024, "
          "Bhagia and others 2024)", make="scores:scores", laptop_minutes=1.0),
    Entry("while-it-trains", "the final loss of runs in progress from smaller runs (Luo and others 2025, "
          "McLeish and others 2025)", make="running:while_it_trains", laptop_minutes=1.5),
    Entry("audit", "what an audit finds of faults planted into published isoFLOP studies",
          make="faults:faults", laptop_minutes=0.5),
)  # fmt: skip
