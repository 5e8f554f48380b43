"""Keys: which there are, which a person chose, and the sentences that name them."""
