"""What a deployment is bought or rented in: hardware on offer, whole systems, and their cost."""
