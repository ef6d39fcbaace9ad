"""Step times that live windows taught, accepted by a person for a scenario."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """The table of calibrations."""
    scenario, moment = "scenarios.id", sa.DateTime(timezone=True)
    op.create_table(
        "calibrations",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("scenario_id", sa.Integer, sa.ForeignKey(scenario, name="fk_calibrations_scenario"), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("basis", sa.Text, nullable=False),
        sa.Column("since", moment, nullable=False),
        sa.Column("until", moment, nullable=False),
        sa.Column("window_s", sa.Float(53), nullable=False),
        sa.Column("windows", sa.Integer, nullable=False),
        sa.Column("factors", sa.Text, nullable=False),
        sa.Column("benchmark", sa.Text, nullable=False),
        sa.Column("accepted_by", sa.Text, nullable=False),
        sa.Column("accepted_at", moment, nullable=False),
        sa.Column("undone_by", sa.Text),
        sa.Column("undone_at", moment),
    )
    op.create_index("ix_calibrations_scenario_id", "calibrations", ["scenario_id"])
