"""Who may do what: roles, what each may do, and who has which."""

from sharing.access.roles import Actor, Right, Role, demand, may

__all__ = ["Actor", "Right", "Role", "demand", "may"]
