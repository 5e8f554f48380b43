"""The state of a chat: conversation, answers, settings. Knows no screen and no Textual."""
