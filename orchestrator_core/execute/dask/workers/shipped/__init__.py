"""What runs in workers' processes: shipped by value, so that workers need not have this project.

Nothing in here may import anything of this project but this package itself, nor anything that a
Dask worker does not have.
"""
