"""A report: one HTML file that needs nothing else."""

import html
import os

from attnscope import _core
from attnscope._files import write
from attnscope._safetensors import Bytes


class Page:
    """Everything about models on one page. A notebook shows it; `save` writes it."""

    def __init__(self, content: Bytes, notes: list[str], files: _core.RunFiles | None) -> None:
        self._content = content
        self._files = files
        self.notes = notes

    @property
    def html(self) -> str:
        return self._content.tobytes().decode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Whole or not at all; never over a file that the report was made of."""
        name = os.fsdecode(os.fspath(path))
        if self._files is not None:
            self._files.check_output(name)
        write(name, self._content)

    def __len__(self) -> int:
        """Its bytes."""
        return len(self._content)

    def __repr__(self) -> str:
        return f"<attnscope.Page of {len(self) / 1e6:.1f} MB; .save('report.html')>"

    def _repr_html_(self) -> str:
        # A frame of its own: the page's style and script are for a whole page.
        source = html.escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{source}" title="attnscope report" style="width: 100%; '
            'height: 800px; resize: vertical; border: 1px solid rgba(128, 128, 128, 0.5)" '
            'sandbox="allow-scripts allow-downloads"></iframe>'
        )
