"""Every expression of docs/coming-from.md for attnscope has the value that the other library returned.

tools/golden_coming_from.py, which needs the other libraries, writes their values.
"""

import json
import pathlib
import sys
from typing import Any

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
page = pytest.importorskip("golden_coming_from")

SECTIONS: list[Any] = page.sections()
EXPECTED: dict[str, dict[str, Any]] = json.loads(page.GOLDEN.read_text())


@pytest.mark.parametrize("section", SECTIONS, ids=[section.title for section in SECTIONS])
def test_values_are_equal(section: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names = page.names_of(section, page.OURS)
    expected = EXPECTED[section.title]
    assert [row.what for row in section.rows] == [*expected] and len(expected) > 2
    for row in section.rows:
        theirs, ours = expected[row.what], page.digest(eval(row.ours, names))
        if theirs["shape"] is None:
            assert ours == theirs, row.what
            continue
        assert ours["shape"] == theirs["shape"], row.what
        np.testing.assert_allclose(ours["values"], theirs["values"], rtol=2e-4, atol=3e-5, err_msg=row.what)
