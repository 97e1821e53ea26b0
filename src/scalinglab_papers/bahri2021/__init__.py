"""Bahri, Dyer, Kaplan, Lee, Sharma 2021: explaining neural scaling laws."""

from scalinglab.studies import UP_TO_GPU, UP_TO_PAPER, Entry, listed

ENTRIES = listed(
    __name__,
    Entry("fig1-top-left", "variance-limited scaling with data of under-parameterized networks: exponent 1",
          make="variance.data:fig1_top_left", scales=UP_TO_PAPER, gpu_hours=0.5),
    Entry("fig1-top-right", "resolution-limited scaling with data of Wide ResNets; smaller networks below "
          "scale paper", make="images:fig1_top_right", scales=UP_TO_PAPER, gpu_hours=40.0),
    Entry("fig1-bottom-left", "resolution-limited scaling with width of ResNets; smaller networks below "
          "scale paper", make="images:fig1_bottom_left", scales=UP_TO_PAPER, gpu_hours=20.0),
    Entry("fig1-bottom-right", "variance-limited scaling with width of over-parameterized networks: "
          "exponent 1", make="variance.width:fig1_bottom_right", scales=UP_TO_PAPER, gpu_hours=6.0),
    Entry("fig2-left", "students interpolate the teacher between training points",
          make="students:fig2_left", scales=UP_TO_PAPER, gpu_hours=0.1),
    Entry("section2.1", "variance-limited corrections of networks small enough to average over: c/D with "
          "the c of second derivatives, and c/width away from the limit of infinite width",
          make="variance.averaged:section_2_1", laptop_minutes=2),
    Entry("theorem1", "the loss of a model that is right at D points falls as D^(-1/d) or faster; here "
          "nearest neighbours: not Lipschitz, but |f − F| ≤ K_F |x − x̂| follows all the same",
          make="manifold:theorem", arguments=("sphere", "D", "n_data"), laptop_minutes=0.33),
    Entry("theorem2", "the loss of a model that is right at P points falls as P^(-1/d) or faster; here "
          "nearest neighbours: not Lipschitz, but |f − F| ≤ K_F |x − x̂| follows all the same",
          make="manifold:theorem", arguments=("torus", "P", "n_params"), laptop_minutes=0.21),
    Entry("theorems-network", "the loss of trained students lies below the bound of Theorems 1 and 2 with "
          "the measured constants", make="students:theorems_network", laptop_minutes=8.8),
    Entry("fig2-right", "the exponents of student networks, of a CNN and of a Wide ResNet against the "
          "dimension of the data", make="distributions:fig2_right", scales=UP_TO_PAPER, gpu_hours=45.0),
    Entry("fig2-right-kernels", "stand-in, kernels on spheres in place of networks: the exponent falls as "
          "t/d with the dimension of the data manifold, 4/d for t = 4",
          make="manifold:fig2_right", laptop_minutes=8.4),
    Entry("fig3", "random-feature models show all four scaling regimes",
          make="random_features:fig3", laptop_minutes=5.4),
    Entry("fig4-left", "data and parameter exponents equal the spectral exponent",
          make="random_features:fig4_left", laptop_minutes=4),
    Entry("fig4-right", "kernel spectra of pooled images decay as power laws",
          make="random_features:fig4_right", laptop_minutes=4.9),
    Entry("fig5-left", "the number of superclasses of CIFAR-100 leaves the exponent; smaller networks below "
          "scale paper", make="distributions:fig5_left", scales=UP_TO_PAPER, gpu_hours=40.0),
    Entry("fig5-right", "Gaussian noise on CIFAR-10 changes the exponent strongly; smaller networks below "
          "scale paper", make="distributions:fig5_right", scales=UP_TO_PAPER, gpu_hours=48.0),
    Entry("figS1", "loss and error, final and best, scale alike; smaller networks below scale paper",
          make="images:fig_s1", scales=UP_TO_PAPER, gpu_hours=40.0),
    Entry("figS2", "teacher-student loss against data: the exponent is 4/d",
          make="students:against_size", arguments=("n_data",), scales=UP_TO_PAPER, gpu_hours=0.2),
    Entry("figS3", "cross-entropy against data for several image sets",
          make="images:fig_s3", scales=UP_TO_PAPER, gpu_hours=40.0),
    Entry("figS4", "teacher-student loss against model size: the exponent is 4/d",
          make="students:against_size", arguments=("n_params",), scales=UP_TO_PAPER, gpu_hours=0.5),
    Entry("figS4-fresh", "students of one teacher on fresh examples, trained as in the code of Sharma and "
          "Kaplan: loss against model size, the exponent is 4/d",
          make="fresh_students:fig_s4_fresh", scales=("smoke", "gpu"), gpu_hours=0.1),
    Entry("figS5", "depth hardly matters for data scaling of Wide ResNets, width does; smaller ones below "
          "scale paper", make="distributions:fig_s5", scales=UP_TO_PAPER, gpu_hours=150.0),
    Entry("longer-training", "Wide ResNets trained for 20,000 steps, ten times as long as in fig5-left and "
          "figS1 at scale gpu", make="longer:longer_training", scales=("gpu",)),
    Entry("figS6", "stand-in, features of a network trained here in place of EfficientNet-B5: duality of "
          "data and features", make="learned_features:fig_s6", scales=UP_TO_GPU, laptop_minutes=3.4),
    Entry("figS7", "stand-in, features of a network trained here in place of EfficientNet-B5: four regimes "
          "on learned features, low and tuned ridge",
          make="learned_features:fig_s7", scales=UP_TO_GPU, laptop_minutes=3.5),
    Entry("figS8", "stand-in, kernels of perceptrons and features of a network trained here in place of "
          "Myrtle-10 and WRN-28-10: teacher targets scale better than real ones; partial sums of the "
          "spectrum", make="targets:fig_s8", scales=UP_TO_GPU, laptop_minutes=4.7),
    Entry("table1", "the four-layer CNNs", make="distributions:table1", laptop_minutes=0.02),
)  # fmt: skip
