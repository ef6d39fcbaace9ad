"""What the Size page shows beside the form."""
