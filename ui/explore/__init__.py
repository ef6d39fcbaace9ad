"""What the Explore page shows: the charts, what hardware serves, and several models on one pool."""
