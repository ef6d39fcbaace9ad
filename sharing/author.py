"""Who acts where nobody has to log in."""

import getpass

from sharing.access import Actor, Role

SYSTEM_USER = "root"
"""The user that a container or a service runs as by default: the name of nobody who could answer for a report."""


def owner(name: str = "") -> Actor:
    """The user that runs this process, who may do everything; under another name where one is given."""
    return Actor(name=name or user_of_machine(), role=Role.ADMIN)


def user_of_machine() -> str:
    """The name of the user that runs this process; empty where the system has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user without a name
        return ""
