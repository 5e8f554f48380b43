"""How often each source of turns is drawn, phase by phase of the training."""

WEIGHTS = {
    "speculative": 29,
    "program": 18,
    "computing": 5,
    "smalltalk": 11,
    "facts": 7,
    "numbers": 8,
    "copying": 17,
    "code": 6,
    "outside": 10,
    "memory": 2,
    "texts": 6,
    "drill": 0,
    "asked": 0,
    "again": 0,
}
"""How often each source is drawn."""
LOOKING_BACK = WEIGHTS | {
    "speculative": 11,
    "program": 8,
    "computing": 2,
    "smalltalk": 7,
    "facts": 16,
    "numbers": 20,
    "copying": 50,
    "code": 5,
    "outside": 6,
    "memory": 8,
    "drill": 22,
}
"""For the middle of the training: the topics are known by then, looking back at the prompt's words is not."""
BALANCED = WEIGHTS | {
    "speculative": 24,
    "program": 16,
    "facts": 10,
    "numbers": 11,
    "copying": 30,
    "memory": 5,
    "drill": 7,
}
"""For the longest part of the training."""
FINAL = BALANCED | {"smalltalk": 13, "numbers": 18, "outside": 14, "drill": 4, "asked": 16}
"""Towards the end of the training: what a new user is most likely to type."""
PRACTICE = FINAL | {"numbers": 34, "copying": 36, "facts": 12, "smalltalk": 18}
"""For a round on what is still weak."""
LONG = PRACTICE | {"texts": 110, "again": 12, "code": 12, "speculative": 28, "program": 20, "computing": 8}
"""To learn to look back over a whole text."""
LAST = LONG | {"texts": 45}
"""The same with more of everything else, while the rate falls."""
