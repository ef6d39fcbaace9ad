"""The page behind a frozen link: what was stored, and nothing else."""
