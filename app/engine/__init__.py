"""The engine's process: text in, marked text out, over a pipe. Knows no screen."""
