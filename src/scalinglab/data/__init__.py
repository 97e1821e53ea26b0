"""Image sets, text, teacher–student data and views of them: subset, pool, noise, superclass, label noise.

`load(name)` reads a set that lies in the data folder (`scalinglab data get NAME` brings it there) into a
`Dataset`; its methods make views. Everything is NumPy; the training engine moves it to the device once.
"""

from scalinglab.data.dataset import NORMALIZATIONS, Dataset
from scalinglab.data.fetch import get
from scalinglab.data.language import text
from scalinglab.data.loading import available, load
from scalinglab.data.sources import SOURCES, folder, search_path
from scalinglab.data.teacher import Teacher, random_teacher, teacher_student

__all__ = [
    "NORMALIZATIONS",
    "SOURCES",
    "Dataset",
    "Teacher",
    "available",
    "folder",
    "get",
    "load",
    "random_teacher",
    "search_path",
    "teacher_student",
    "text",
]
