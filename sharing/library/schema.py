"""The tables. A change here needs a migration beside it (``migrations/versions/``) and the new :data:`REVISION`."""

from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

REVISION = "0006"
"""The migration that leads to these tables."""


class UtcTime(TypeDecorator[datetime]):
    """A point in time in UTC; SQLite keeps no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """The moment in UTC, as it is stored."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """The stored moment with UTC as its time zone, which SQLite does not keep."""
        return None if value is None else value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = MetaData()

PROJECTS = Table(
    "projects",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(120), nullable=False),
    Column("customer", String(120), nullable=False),
    Column("customer_words", Text, nullable=False),
    Column("name_words", Text, nullable=False),
    UniqueConstraint("name", "customer", name="uq_projects_name_customer"),
)
# What the list shows stands beside the number of the latest version, so that it reads one table.
SCENARIOS = Table(
    "scenarios",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("latest", Integer, nullable=False),
    Column("project_id", Integer, ForeignKey("projects.id", name="fk_scenarios_project")),
    Column("name", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("model_words", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("gpus", Integer),
    Column("usd_per_month", Float(53)),
    Column("power_kw", Float(53)),
    Column("updated_at", UtcTime, nullable=False),
    Column("updated_by", Text, nullable=False),
    Column("deleted_at", UtcTime),
    Index("ix_scenarios_updated_at", "updated_at"),
    Index("ix_scenarios_project_id", "project_id"),
)
VERSIONS = Table(
    "versions",
    METADATA,
    Column("scenario_id", Integer, ForeignKey("scenarios.id", name="fk_versions_scenario"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("author", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("action", String(20), nullable=False),
    Column("changes", Text, nullable=False),
    Column("schema_version", Integer, nullable=False),
    Column("document", Text, nullable=False),
    Column("project_id", Integer, ForeignKey("projects.id", name="fk_versions_project")),
    Column("tags", Text, nullable=False),
    Column("figures", Text),
    Column("save_key", String(64), nullable=False),
    Index("uq_versions_save_key", "save_key", unique=True),
)
TAGS = Table(
    "tags",
    METADATA,
    Column("scenario_id", Integer, ForeignKey("scenarios.id", name="fk_tags_scenario"), primary_key=True),
    Column("tag", String(40), primary_key=True),
    Index("ix_tags_tag", "tag"),
)
# Of the token its hash alone: whoever reads the database cannot open the page.
LINKS = Table(
    "links",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("scenario_id", Integer, ForeignKey("scenarios.id", name="fk_links_scenario"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("token_hash", String(64), nullable=False),
    Column("made_by", Text, nullable=False),
    Column("made_at", UtcTime, nullable=False),
    Column("released", String(20), nullable=False),
    Column("engine_version", Text, nullable=False),
    Column("data_version", Text, nullable=False),
    Column("expires_at", UtcTime),
    Column("revoked_at", UtcTime),
    Column("revoked_by", Text),
    Column("password", Text),
    Column("guesses", Integer, nullable=False),
    Column("blocked_until", UtcTime),
    Column("views", Integer, nullable=False),
    Column("viewed_at", UtcTime),
    Column("report", Text, nullable=False),
    Index("uq_links_token_hash", "token_hash", unique=True),
    Index("ix_links_scenario_id", "scenario_id"),
)
# Where a scenario runs: the name of a source of live data, as addresses and credentials stay with sources.
BONDS = Table(
    "bonds",
    METADATA,
    Column("scenario_id", Integer, ForeignKey("scenarios.id", name="fk_bonds_scenario"), primary_key=True),
    Column("source", Text, nullable=False),
    Column("deployment", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("made_at", UtcTime, nullable=False),
)
COMPARISONS = Table(
    "comparisons",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("scenario_id", Integer, ForeignKey("scenarios.id", name="fk_comparisons_scenario"), nullable=False),
    Column("source", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("state", String(20), nullable=False),
    Column("judged", Integer, nullable=False),
    Column("answer", Text, nullable=False),
    Column("comparison", Text, nullable=False),
    Index("ix_comparisons_scenario_id", "scenario_id"),
)
# Step times that live windows taught and a person accepted: the newest that is not undone counts.
CALIBRATIONS = Table(
    "calibrations",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("scenario_id", Integer, ForeignKey("scenarios.id", name="fk_calibrations_scenario"), nullable=False),
    Column("source", Text, nullable=False),
    Column("basis", Text, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("until", UtcTime, nullable=False),
    Column("window_s", Float(53), nullable=False),
    Column("windows", Integer, nullable=False),
    Column("factors", Text, nullable=False),
    Column("benchmark", Text, nullable=False),
    Column("sequence_ms", Float(53), nullable=False, server_default="0"),
    Column("sequence_covariance", Text, nullable=False, server_default="[]"),
    Column("accepted_by", Text, nullable=False),
    Column("accepted_at", UtcTime, nullable=False),
    Column("undone_by", Text),
    Column("undone_at", UtcTime),
    Index("ix_calibrations_scenario_id", "scenario_id"),
)
# Logins that somebody has ended before their time, by what tells them apart.
ENDED_LOGINS = Table(
    "ended_logins", METADATA, Column("login", String(64), primary_key=True), Column("until", UtcTime, nullable=False)
)
# Of whoever guesses at the password of a link a digest alone.
GUESSES = Table(
    "guesses",
    METADATA,
    Column("link_id", Integer, ForeignKey("links.id", name="fk_guesses_link"), primary_key=True),
    Column("holder", String(64), primary_key=True),
    Column("guesses", Integer, nullable=False),
    Column("blocked_until", UtcTime, nullable=False),
)
