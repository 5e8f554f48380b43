"""Numbers of things, in words that fit one of them too."""


def counted(number: int, thing: str) -> str:
    """`1 chat`, `1,200 chats`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
