"""Singular and plural."""


def counted(count: int, one: str) -> str:
    """Return a count with its noun: 1 row, 2 rows."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"
