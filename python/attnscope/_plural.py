"""Words that depend on how many things they name."""


def counted(count: int, one: str) -> str:
    """1 row, 2 rows"""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"
