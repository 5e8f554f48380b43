"""One command per file. Nothing heavy is imported until a command runs."""
