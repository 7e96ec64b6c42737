"""Report pages: self-contained HTML files."""

import html
import os

from attnscope import _core
from attnscope._guidance import Hinted, guided
from attnscope._files import write
from attnscope._safetensors import Bytes


@guided
class Page(Hinted):
    """A self-contained HTML report. A notebook displays it; `save` writes it to a file."""

    _hints = {
        **dict.fromkeys(("show", "display", "open"), "the page as the last line of a notebook cell, or page.save('report.html')"),
        **dict.fromkeys(("write", "to_html"), "page.save('report.html')"),
    }

    def __init__(self, content: Bytes, notes: list[str], files: _core.RunFiles | None) -> None:
        self._content = content
        self._files = files
        self.notes = notes

    @property
    def html(self) -> str:
        return self._content.tobytes().decode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page atomically. Raise UsageError for a file that the report was made from."""
        name = os.fsdecode(os.fspath(path))
        if self._files is not None:
            self._files.check_output(name)
        write(name, self._content)

    def __len__(self) -> int:
        """Return the size in bytes."""
        return len(self._content)

    def __repr__(self) -> str:
        return f"<attnscope.Page of {len(self) / 1e6:.1f} MB; .save('report.html')>"

    def _repr_html_(self) -> str:
        # Use a frame, because the page's style and script expect a document of their own.
        source = html.escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{source}" title="attnscope report" style="width: 100%; '
            'height: 800px; resize: vertical; border: 1px solid rgba(128, 128, 128, 0.5)" '
            'sandbox="allow-scripts allow-downloads"></iframe>'
        )
