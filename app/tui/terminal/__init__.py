"""The terminal below the screens: signals, suspending, pastes."""
