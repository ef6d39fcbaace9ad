"""Projects, scenarios, their versions and tags."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """The first tables."""
    op.create_table(
        "projects",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("customer", sa.String(120), nullable=False),
        sa.Column("customer_words", sa.Text, nullable=False),
        sa.Column("name_words", sa.Text, nullable=False),
        sa.UniqueConstraint("name", "customer", name="uq_projects_name_customer"),
    )
    op.create_table(
        "scenarios",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("latest", sa.Integer, nullable=False),
        sa.Column("project_id", sa.Integer, sa.ForeignKey("projects.id", name="fk_scenarios_project")),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("model_words", sa.Text, nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("gpus", sa.Integer),
        sa.Column("usd_per_month", sa.Float(53)),
        sa.Column("power_kw", sa.Float(53)),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_by", sa.Text, nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True)),
    )
    op.create_index("ix_scenarios_updated_at", "scenarios", ["updated_at"])
    op.create_index("ix_scenarios_project_id", "scenarios", ["project_id"])
    _versions()
    op.create_table(
        "tags",
        sa.Column("scenario_id", sa.Integer, sa.ForeignKey("scenarios.id", name="fk_tags_scenario"), primary_key=True),
        sa.Column("tag", sa.String(40), primary_key=True),
    )
    op.create_index("ix_tags_tag", "tags", ["tag"])


def _versions() -> None:
    scenario = sa.ForeignKey("scenarios.id", name="fk_versions_scenario")
    op.create_table(
        "versions",
        sa.Column("scenario_id", sa.Integer, scenario, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("changes", sa.Text, nullable=False),
        sa.Column("schema_version", sa.Integer, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("project_id", sa.Integer, sa.ForeignKey("projects.id", name="fk_versions_project")),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("figures", sa.Text),
        sa.Column("save_key", sa.String(64), nullable=False),
    )
    op.create_index("uq_versions_save_key", "versions", ["save_key"], unique=True)
