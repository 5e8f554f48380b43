"""All that this machine can say about the pairs on it, in one JSON and one card to attach to an issue."""
