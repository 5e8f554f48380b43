"""The engine process: requests in, marked text out, over a pipe. Knows no screen."""
