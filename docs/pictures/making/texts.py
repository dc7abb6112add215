"""Parts of the guides that come from a run: they stand between marks."""

from __future__ import annotations

from pathlib import Path


def put(text: str, mark: str, file: Path) -> None:
    """Replaces what stands between ``<!-- MARK begins -->`` and ``<!-- MARK ends -->``.

    Raises:
        ValueError: if the marks do not stand there once each.
    """
    begin, end = f"<!-- {mark} begins -->\n", f"<!-- {mark} ends -->"
    whole = file.read_text(encoding="utf-8")
    if whole.count(begin) != 1 or whole.count(end) != 1:
        raise ValueError(f"{file.name}: the marks of {mark!r} do not stand there once each")
    before, _, rest = whole.partition(begin)
    after = rest.partition(end)[2]
    file.write_text(f"{before}{begin}{text.rstrip()}\n{end}{after}", encoding="utf-8")


def indented(text: str) -> str:
    """A block of code in Markdown."""
    return "\n".join(f"    {line}".rstrip() for line in text.strip("\n").splitlines())


def quoted(markdown: str) -> str:
    """The Markdown as a quotation, whose headings are none of the page's."""
    lines = (f"**{line[2:]}**" if line.startswith("# ") else line for line in markdown.splitlines())
    return "\n".join(f"> {line}".rstrip() for line in lines)
