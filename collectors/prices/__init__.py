"""Prices of rented GPUs as their providers publish them today; asked for by a user, never by itself."""
