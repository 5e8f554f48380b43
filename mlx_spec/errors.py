"""What can go wrong in the engine, by what the caller can do about it.

SpecError
├── BadOption           an option is out of range: change it
├── ContextFull         the prompt leaves no room in the model's context: shorten it
├── IncompatiblePair    target and draft cannot work together: choose another draft
└── UnsupportedModel    a model's layers cannot be rewound: choose another model
"""


class SpecError(Exception):
    """Root of the engine's errors. The message is for the user: what, the value, what to do."""


class BadOption(SpecError, ValueError):
    """An option is out of its range."""


class ContextFull(SpecError):
    """The prompt does not fit into the model's context."""


class IncompatiblePair(SpecError):
    """Target and draft model do not fit together."""


class UnsupportedModel(SpecError):
    """A model keeps state that the engine cannot rewind."""
