"""A scenario understood: every name resolved, every unit turned into seconds, tokens and requests per second."""
