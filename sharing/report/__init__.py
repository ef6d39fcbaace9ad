"""A scenario and its plan as one document, whatever file or page it becomes."""
