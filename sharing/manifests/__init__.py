"""Deployment manifests of a plan: what the people who deploy it apply, with the arguments that the plan assumed."""

from sharing.manifests.bundle import manifests, write_folder, zipped

__all__ = ["manifests", "write_folder", "zipped"]
