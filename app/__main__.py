"""`python -m app` is `mlx-spec`."""

import sys

from app.cli import main

if __name__ == "__main__":
    sys.exit(main())
