"""The program: `mlx-spec`, or `python -m app`. Ctrl+C ends it quietly even while its parts are imported."""

import sys

from app.shell import exit_codes


def main() -> int:
    """Run the command line; return its exit code."""
    try:
        from app.shell.interrupt import Interrupt

        with Interrupt() as interrupt:  # some errors amid an import are printed by Python, and lost
            from app import cli
        return exit_codes.INTERRUPTED if interrupt.pressed else cli.main()
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
