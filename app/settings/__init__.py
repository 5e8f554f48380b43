"""config.toml: what a person sets once."""
