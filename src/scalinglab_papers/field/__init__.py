"""Questions that are asked before and while a network is trained, judged on runs that others published."""

from scalinglab.studies.registry import Entry, listed

ENTRIES = listed(
    __name__,
    Entry("hyperparameters", "learning rate and batch size at the largest sizes of the Step Law's searches, "
          "from searches of a tenth of their compute (Li and others 2025)", make="searches:hyperparameters",
          laptop_minutes=0.3),
    Entry("mixtures", "the loss of data mixtures ranked by small runs, and proposals inside their intervals "
          "(RegMix, Liu and others 2024)", make="mixtures:mixtures", laptop_minutes=3.0),
)  # fmt: skip
