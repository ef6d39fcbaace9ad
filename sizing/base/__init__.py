"""Words that every room uses: errors, checks, units, formatting, constants and the types of a result."""
