"""Chats on disk: one SQLite file, a tree of messages per chat. Knows no screen, no model and no terminal."""
