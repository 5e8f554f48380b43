"""The marks by which models part their answers."""

THOUGHTS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),  # Mistral
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<longcat_think>", "</longcat_think>"),
)
"""What begins and what ends a thought."""
CHANNEL, MESSAGE = "<|channel|>", "<|message|>"
"""Of gpt-oss, which writes a thought in one channel and the answer in another."""
ANALYSIS, FINAL = f"{CHANNEL}analysis{MESSAGE}", f"{CHANNEL}final{MESSAGE}"
