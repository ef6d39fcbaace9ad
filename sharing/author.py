"""Who saves where nobody is logged in."""

import getpass


def user_of_machine() -> str:
    """The name of the user that runs this process; empty where the system has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user without a name
        return ""
