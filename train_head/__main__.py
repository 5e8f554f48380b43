"""`python -m train_head STAGE`; each stage imports only what it needs."""

import sys
from importlib import import_module

STAGES = ("prepare", "learn", "export")

if len(sys.argv) < 2 or sys.argv[1] not in STAGES:
    sys.exit(f"Name a stage: {', '.join(STAGES)}.")
import_module(f"train_head.{sys.argv[1]}").main(sys.argv[2:])
