"""Run by alembic: the steps on the connection, and in the transaction, of :mod:`sharing.library.database`."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
context.run_migrations()
