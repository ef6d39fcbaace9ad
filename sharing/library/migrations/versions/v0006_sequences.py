"""What each running sequence adds to a step, with the step times that live windows taught; none in older records."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """The columns of the time per sequence; a version that does not know them writes none."""
    op.add_column("calibrations", sa.Column("sequence_ms", sa.Float(53), nullable=False, server_default="0"))
    op.add_column("calibrations", sa.Column("sequence_covariance", sa.Text, nullable=False, server_default="[]"))
