"""``python -m lowrankgcn`` is the command ``lowrankgcn``."""

from lowrankgcn.cli import run

if __name__ == "__main__":
    run()
