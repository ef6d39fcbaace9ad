"""What a decision depends on: how inputs move the answer, what flips it, what a promise costs, variants compared."""
