"""The HTTP server: OpenAI's and Anthropic's APIs over the engine's process. Loads no model library."""
