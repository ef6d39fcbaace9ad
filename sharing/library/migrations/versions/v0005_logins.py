"""Logins that were ended before their time, and the guesses at the password of a frozen link by whoever guesses."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """The tables of ended logins and of guesses."""
    op.create_table(
        "ended_logins",
        sa.Column("login", sa.String(64), primary_key=True),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "guesses",
        sa.Column("link_id", sa.Integer, sa.ForeignKey("links.id", name="fk_guesses_link"), primary_key=True),
        sa.Column("holder", sa.String(64), primary_key=True),
        sa.Column("guesses", sa.Integer, nullable=False),
        sa.Column("blocked_until", sa.DateTime(timezone=True), nullable=False),
    )
