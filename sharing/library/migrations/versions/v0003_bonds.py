"""Bonds between scenarios and sources of live data, and what scheduled comparisons said."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """The tables of bonds and of comparisons."""
    scenario = "scenarios.id"
    op.create_table(
        "bonds",
        sa.Column("scenario_id", sa.Integer, sa.ForeignKey(scenario, name="fk_bonds_scenario"), primary_key=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("deployment", sa.Text, nullable=False),
        sa.Column("made_by", sa.Text, nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "comparisons",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("scenario_id", sa.Integer, sa.ForeignKey(scenario, name="fk_comparisons_scenario"), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("judged", sa.Integer, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("comparison", sa.Text, nullable=False),
    )
    op.create_index("ix_comparisons_scenario_id", "comparisons", ["scenario_id"])
