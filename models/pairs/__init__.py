"""Which target goes with which draft, and what of it is here."""
