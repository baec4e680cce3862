"""``python -m lowrankgcn`` is the command ``lowrankgcn``."""

from lowrankgcn.cli import app

if __name__ == "__main__":
    app(prog_name="lowrankgcn")
