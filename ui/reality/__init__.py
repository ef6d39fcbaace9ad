"""The page Plan vs reality."""
