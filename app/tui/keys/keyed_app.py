"""The app as widgets know it: it has keys."""

from textual.app import App

from app.tui.keys.in_force import Keys


class KeyedApp(App[None]):
    """An app with keys that a person may have chosen."""

    keys: Keys
