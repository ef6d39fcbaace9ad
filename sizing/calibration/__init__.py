"""The user's own benchmark corrects the step times of the configuration it measured."""
