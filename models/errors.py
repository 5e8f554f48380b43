"""What can go wrong with pairs, by what the caller can do about it.

ModelsError
├── BadChoice                   choose something else
│   ├── UnknownPair             no pair of that name
│   ├── UnknownChip             no chip of that name
│   ├── BadSource               neither a folder nor a repository
│   ├── RepositoryMissing       the Hub has no such repository
│   ├── RevisionMissing         the repository has no such revision
│   ├── UnsupportedFormat       mlx-lm cannot load what is there
│   └── IncompatibleTokenizers  target and draft read text differently
├── NotInstalled                pull it first
├── MachineTrouble              the disk, the network, the Hub or the files: fix it, try again
│   ├── AccessNeeded            gated: accept the terms, log in
│   ├── BrokenFiles             truncated, wrong or missing files: pull again
│   ├── DoesNotFit              too little disk or memory
│   └── DownloadFailed          offline, connection cut, the Hub answers with errors
└── PullCancelled               asked for; nothing is wrong
"""


class ModelsError(Exception):
    """Root of this package's errors. The message is for the user: what, the value, what to do.

    Names and texts of files, models and the Hub enter messages, so control characters are escaped.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in message))


_MLX_SAYS = ("allocate", "Insufficient Memory")


def is_lack_of_memory(error: Exception) -> bool:
    """Whether memory ran out: Python's own error, or MLX's, which has no class."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _MLX_SAYS)


def reason_of(error: Exception) -> str:
    """The first line that a library's error says, for a message; its class where it says nothing."""
    if isinstance(error, RecursionError):
        return "brackets are nested too deep"
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


class BadChoice(ModelsError):
    """What was asked for cannot work on any machine."""


class UnknownPair(BadChoice):
    """The catalogue has no pair of this name."""


class UnknownChip(BadChoice):
    """The table of chips has none of this name or number of cores."""


class BadSource(BadChoice):
    """Neither a local folder nor a repository name."""


class RepositoryMissing(BadChoice):
    """The Hub does not have the repository, or shows it to its members only."""


class RevisionMissing(BadChoice):
    """The repository does not have the revision."""


class UnsupportedFormat(BadChoice):
    """The repository or folder holds no model that mlx-lm loads."""


class IncompatibleTokenizers(BadChoice):
    """The same text gives different token ids in target and draft."""


class NotInstalled(ModelsError):
    """The pair's files are not (all) on this machine."""


class MachineTrouble(ModelsError):
    """This machine, its network, its files or the Hub failed."""


class AccessNeeded(MachineTrouble):
    """The repository's owner asks for consent or a login."""


class BrokenFiles(MachineTrouble):
    """Files are truncated, unreadable or do not belong together."""


class DoesNotFit(MachineTrouble):
    """Too little free disk or memory."""


class DownloadFailed(MachineTrouble):
    """No connection, or the Hub answers with errors."""


class PullCancelled(ModelsError):
    """The caller stopped the download."""
