"""Whole screens: the chat, the comparison, the pairs, help and questions."""
