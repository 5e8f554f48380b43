"""The command line's input and output: streams, exit codes, files, tables. Knows no screen."""
