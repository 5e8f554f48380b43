"""What was wrong with a command line, in our words: the option, its value, what it must be."""

import typer


def usage_text(error: typer.TyperException) -> str:
    """One or two lines; or the help of a group that was given no command."""
    context = getattr(error, "ctx", None)  # typer's own type of a usage error is private
    message = error.format_message()
    if context is not None and message == context.get_help():
        return message
    if isinstance(error, typer.BadParameter) and (told := _refused(error)) is not None:
        return told
    command = context.command_path if context is not None else "mlx-spec"
    return f"{message}\nSee `{command} --help`."


def _refused(error: typer.BadParameter) -> str | None:
    """A value that typer, which leaves them to pydantic, could not use; it would not be told otherwise."""
    from pydantic import ValidationError

    if error.param is None or not isinstance(error.__context__, ValidationError):
        return None
    names = getattr(error.param, "opts", None) or [error.param.name]
    first = error.__context__.errors()[0]
    bounds = first.get("ctx", {})
    match first["type"]:
        case "int_parsing" | "int_from_float":
            must = "a whole number"
        case "int_parsing_size":
            must = "a number of fewer digits"
        case "float_parsing":
            must = "a number"
        case "greater_than_equal":
            must = f"at least {bounds['ge']}"
        case "less_than_equal":
            must = f"at most {bounds['le']}"
        case "value_error":
            return f"{names[0]}: {bounds['error']}"
        case _:
            return None
    return f"{names[0]} is {str(first['input']) or 'empty'}; it must be {must}."
