"""What a person sees: the command line, the terminal chat, the engine's process."""
