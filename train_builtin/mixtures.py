"""The weights of the sources of turns, by phase of the training."""

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
"""For the first phase; the basis of the others."""
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
"""For the second phase: by then the model knows the topics, but not how to copy from the prompt."""
BALANCED = WEIGHTS | {
    "speculative": 24,
    "program": 16,
    "facts": 10,
    "numbers": 11,
    "copying": 30,
    "memory": 5,
    "drill": 7,
}
"""For the third phase."""
FINAL = BALANCED | {"smalltalk": 13, "numbers": 18, "outside": 14, "drill": 4, "asked": 16}
"""For the end of the first cycle: adds the questions that new users are most likely to type."""
PRACTICE = FINAL | {"numbers": 34, "copying": 36, "facts": 12, "smalltalk": 18}
"""For the second cycle: more of the weakest sources."""
LONG = PRACTICE | {"texts": 110, "again": 12, "code": 12, "speculative": 28, "program": 20, "computing": 8}
"""For the third cycle: copying from long texts."""
LAST = LONG | {"texts": 45}
"""For the last phase, while the learning rate falls: as `LONG`, with a smaller share of long texts."""
