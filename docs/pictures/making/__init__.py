"""What `make.py` is made of: runs, questions, and what draws their answers."""
