"""Frozen links: a stored report behind a token of which the hash is kept."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """The table of links."""
    op.create_table(
        "links",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("scenario_id", sa.Integer, sa.ForeignKey("scenarios.id", name="fk_links_scenario"), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("made_by", sa.Text, nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("released", sa.String(20), nullable=False),
        sa.Column("engine_version", sa.Text, nullable=False),
        sa.Column("data_version", sa.Text, nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_by", sa.Text),
        sa.Column("password", sa.Text),
        sa.Column("guesses", sa.Integer, nullable=False),
        sa.Column("blocked_until", sa.DateTime(timezone=True)),
        sa.Column("views", sa.Integer, nullable=False),
        sa.Column("viewed_at", sa.DateTime(timezone=True)),
        sa.Column("report", sa.Text, nullable=False),
    )
    op.create_index("uq_links_token_hash", "links", ["token_hash"], unique=True)
    op.create_index("ix_links_scenario_id", "links", ["scenario_id"])
