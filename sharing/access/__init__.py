"""Who may do what: roles, what each may do, and who has which."""

from sharing.access.roles import Actor, Right, Role, demand, may

__all__ = ["LOCAL_NAMES", "Actor", "Right", "Role", "demand", "may"]

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine, under which alone a server answers unless told others: a page on the internet whose name leads
here (DNS rebinding) gets no answer."""
