"""What `orchestrator doctor` looks at: one file for each part that can be unwell.

A check looks and reports (`Check`); it repairs nothing and raises nothing on purpose.
"""
