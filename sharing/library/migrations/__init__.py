"""Steps from one version of the tables to the next, run when a library is opened."""
