"""Keys: the defaults, a person's own choices, and the sentences that name them."""
