"""Version of the engine, part of every answer, and what two versions say about each other's figures.

The minor number rises with every change that moves a figure of an answer, the patch number with every other release.
"""

import re

ENGINE_VERSION = "0.12.0"
FIRST_TO_MOVE = (0, 9)
"""Major and minor number of the first version that was raised with its figures. Engines before it all called themselves
0.1.0, whatever they answered."""


def gives_the_figures_of(one: str, other: str) -> bool | None:
    """Whether engines of two versions answer the same question with the same figures; None where nobody can tell."""
    versions = [re.fullmatch(r"(\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?", version) for version in (one, other)]
    figures = [(int(version[1]), int(version[2])) for version in versions if version]
    if len(figures) < len(versions) or min(figures) < FIRST_TO_MOVE:
        return None
    return figures[0] == figures[1]
