"""The command line's ends: stdout, stderr, exit codes, files, tables. Knows no screen."""
