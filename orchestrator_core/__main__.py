"""``python -m orchestrator_core``: the command line, where its script is not on the path."""

from orchestrator_core.cli import main

if __name__ == "__main__":
    main()
