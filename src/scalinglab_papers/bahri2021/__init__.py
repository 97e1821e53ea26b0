"""Bahri, Dyer, Kaplan, Lee, Sharma 2021: explaining neural scaling laws."""

from scalinglab.studies.registry import Entry

ENTRIES = (
    Entry(
        "bahri2021/fig1-top-left",
        "variance-limited scaling with data of under-parameterized networks: exponent 1",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.variance.data:fig1_top_left",
        gpu_hours=0.5,
    ),
    Entry(
        "bahri2021/fig1-top-right",
        "resolution-limited scaling with data of Wide ResNets; smaller networks below scale paper",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.images:fig1_top_right",
        gpu_hours=40.0,
    ),
    Entry(
        "bahri2021/fig1-top-right-cnn",
        "stand-in, the CNN of damico2025 in place of Wide ResNets: resolution-limited scaling with data; "
        "loss and error, final and best",
        scales=("gpu",),
        make="scalinglab_papers.bahri2021.distributions:fig1_top_right_cnn",
    ),
    Entry(
        "bahri2021/fig1-bottom-left",
        "resolution-limited scaling with width of ResNets; smaller networks below scale paper",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.images:fig1_bottom_left",
        gpu_hours=20.0,
    ),
    Entry(
        "bahri2021/fig1-bottom-right",
        "variance-limited scaling with width of over-parameterized networks: exponent 1",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.variance.width:fig1_bottom_right",
        gpu_hours=6.0,
    ),
    Entry(
        "bahri2021/fig2-left",
        "students interpolate the teacher between training points",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.students:fig2_left",
        gpu_hours=0.1,
    ),
    Entry(
        "bahri2021/section2.1",
        "variance-limited corrections of networks small enough to average over: c/D with the c of second "
        "derivatives, and c/width away from the limit of infinite width",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.bahri2021.variance.averaged:section_2_1",
        laptop_minutes=2,
    ),
    Entry(
        "bahri2021/theorem1",
        "the loss of a model that is right at D points falls as D^(-1/d) or faster; here nearest "
        "neighbours: not Lipschitz, but |f − F| ≤ K_F |x − x̂| follows all the same",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.bahri2021.manifold:theorem1",
        laptop_minutes=0.33,
    ),
    Entry(
        "bahri2021/theorem2",
        "the loss of a model that is right at P points falls as P^(-1/d) or faster; here nearest "
        "neighbours: not Lipschitz, but |f − F| ≤ K_F |x − x̂| follows all the same",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.bahri2021.manifold:theorem2",
        laptop_minutes=0.21,
    ),
    Entry(
        "bahri2021/theorems-network",
        "the loss of trained students lies below the bound of Theorems 1 and 2 with the measured constants",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.bahri2021.students:theorems_network",
        laptop_minutes=8.8,
    ),
    Entry(
        "bahri2021/fig2-right",
        "the exponents of student networks, of a CNN and of a Wide ResNet against the dimension of the data",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.distributions:fig2_right",
        gpu_hours=45.0,
    ),
    Entry(
        "bahri2021/fig2-right-cnn",
        "stand-in, the CNN of damico2025 in place of the CNN of table 1 and Wide ResNets: 4/α_D against the "
        "dimension, for students and for images (inputs only)",
        scales=("gpu",),
        make="scalinglab_papers.bahri2021.distributions:fig2_right_cnn",
    ),
    Entry(
        "bahri2021/fig2-right-kernels",
        "stand-in, kernels on spheres in place of networks: the exponent falls as t/d with the dimension of "
        "the data manifold, 4/d for t = 4",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.bahri2021.manifold:fig2_right",
        laptop_minutes=8.4,
    ),
    Entry(
        "bahri2021/fig3",
        "random-feature models show all four scaling regimes",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.bahri2021.random_features:fig3",
        laptop_minutes=5.4,
    ),
    Entry(
        "bahri2021/fig4-left",
        "data and parameter exponents equal the spectral exponent",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.bahri2021.random_features:fig4_left",
        laptop_minutes=4,
    ),
    Entry(
        "bahri2021/fig4-right",
        "kernel spectra of pooled images decay as power laws",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.bahri2021.random_features:fig4_right",
        laptop_minutes=4.9,
    ),
    Entry(
        "bahri2021/fig5-left",
        "the number of superclasses of CIFAR-100 leaves the exponent; smaller networks below scale paper",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.distributions:fig5_left",
        gpu_hours=40.0,
    ),
    Entry(
        "bahri2021/fig5-right",
        "Gaussian noise on CIFAR-10 changes the exponent strongly; smaller networks below scale paper",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.distributions:fig5_right",
        gpu_hours=48.0,
    ),
    Entry(
        "bahri2021/figS1",
        "loss and error, final and best, scale alike; smaller networks below scale paper",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.images:fig_s1",
        gpu_hours=40.0,
    ),
    Entry(
        "bahri2021/figS2",
        "teacher-student loss against data: the exponent is 4/d",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.students:fig_s2",
        gpu_hours=0.2,
    ),
    Entry(
        "bahri2021/figS3",
        "cross-entropy against data for several image sets",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.images:fig_s3",
        gpu_hours=40.0,
    ),
    Entry(
        "bahri2021/figS4",
        "teacher-student loss against model size: the exponent is 4/d",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.students:fig_s4",
        gpu_hours=0.5,
    ),
    Entry(
        "bahri2021/figS4-fresh",
        "students of one teacher on fresh examples, trained as in the code of Sharma and Kaplan: loss "
        "against model size, the exponent is 4/d",
        scales=("smoke", "gpu"),
        make="scalinglab_papers.bahri2021.fresh_students:fig_s4_fresh",
        gpu_hours=0.1,
    ),
    Entry(
        "bahri2021/figS5",
        "depth hardly matters for data scaling of Wide ResNets, width does; smaller ones below scale paper",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab_papers.bahri2021.distributions:fig_s5",
        gpu_hours=150.0,
    ),
    Entry(
        "bahri2021/figS6",
        "stand-in, features of a network trained here in place of EfficientNet-B5: duality of data and "
        "features",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab_papers.bahri2021.learned_features:fig_s6",
        laptop_minutes=3.4,
    ),
    Entry(
        "bahri2021/figS7",
        "stand-in, features of a network trained here in place of EfficientNet-B5: four regimes on learned "
        "features, low and tuned ridge",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab_papers.bahri2021.learned_features:fig_s7",
        laptop_minutes=3.5,
    ),
    Entry(
        "bahri2021/figS8",
        "stand-in, kernels of perceptrons and features of a network trained here in place of Myrtle-10 and "
        "WRN-28-10: teacher targets scale better than real ones; partial sums of the spectrum",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab_papers.bahri2021.targets:fig_s8",
        laptop_minutes=4.7,
    ),
    Entry(
        "bahri2021/table1",
        "the four-layer CNNs",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.bahri2021.distributions:table1",
        laptop_minutes=0.02,
    ),
)
