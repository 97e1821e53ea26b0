"""Image sets, teacher-student data, and views of them."""
