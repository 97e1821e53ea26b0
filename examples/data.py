"""Views of a data set: nested subsets, noise, pooling, superclasses, and a teacher's data."""

import numpy as np

import scalinglab as sl

digits = sl.data.load("digits")
print(digits.summary())
small, large = (digits.subset(n, seed=0) for n in (100, 200))
print("the larger subset contains the smaller:", np.array_equal(large.train_x[:100], small.train_x))
print("labels flipped:", np.mean(digits.label_noise(0.1).train_y != digits.train_y).round(3))
print(digits.pool(2).summary())
print(digits.superclass([k % 2 for k in range(10)]).summary())
print(sl.data.teacher_student(dimension=4, n_data=1000).summary())
