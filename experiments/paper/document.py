"""What a page is made of, in Markdown and in HTML, and numbers as text."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the page's."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Text; ``**bold**`` and `` `code` `` as in Markdown, nothing else: a single asterisk is an asterisk."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table of texts, ready to show."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure, drawn when it is asked for."""

    name: str  # of its files
    caption: str
    draw: Callable[[], Figure]


Block = Heading | Paragraph | Bullets | Table | Picture


def to_markdown(blocks: Iterable[Block], images: str) -> str:
    """The page in Markdown; its figures are PNG files in the folder ``images``."""
    return "\n\n".join(_markdown(block, images) for block in blocks) + "\n"


def _markdown(block: Block, images: str) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {_escape(block.text)}"
    if isinstance(block, Paragraph):
        return _escape(block.text)
    if isinstance(block, Bullets):
        return "\n".join(f"- {_escape(item)}" for item in block.items)
    if isinstance(block, Picture):
        caption = _escape(block.caption)
        return f"![{caption}]({images}/{block.name}.png)\n\n{caption}"
    lines = [f"**{_escape(block.title)}**", "", _line(block.header), "|" + "---|" * len(block.header)]
    lines += [_line(row) for row in block.rows]
    return "\n".join(lines) + (f"\n\n{_escape(block.note)}" if block.note else "")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escape(cell).replace("|", "\\|") for cell in cells) + " |"


def _escape(text: str) -> str:
    """Single asterisks as such: r* is not the beginning of something in italics."""
    return re.sub(r"(?<!\*)\*(?!\*)", r"\\*", text)


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
h1, h2, h3 { line-height: 1.2; margin-top: 2em } h1 { margin-top: 0 }
img { max-width: 100%; height: auto } figure { margin: 1.5em 0 }
figcaption, .note { color: #555; font-size: 90% } .wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 85%; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: bold; padding: .5em 0 }
th, td { border-bottom: 1px solid #ddd; padding: .2em .6em; text-align: left; vertical-align: top }
th { border-bottom: 2px solid #888 } code { background: #f2f2f2; padding: 0 .2em }
"""


def to_html(blocks: Iterable[Block], title: str, pictures: dict[str, bytes]) -> str:
    """The page as one HTML file with its figures, SVG by name, inside."""
    body = "\n".join(_html(block, pictures) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n'
        f"<body>\n{body}\n</body></html>\n"
    )


def _html(block: Block, pictures: dict[str, bytes]) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{_inline(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        return f"<p>{_inline(block.text)}</p>"
    if isinstance(block, Bullets):
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in block.items) + "</ul>"
    if isinstance(block, Picture):
        data = base64.b64encode(pictures[block.name]).decode()
        caption = html.escape(block.caption, quote=True)
        image = f'<img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
        return f"<figure>{image}<figcaption>{_inline(block.caption)}</figcaption></figure>"
    head = "".join(f"<th>{_inline(cell)}</th>" for cell in block.header)
    rows = "".join("<tr>" + "".join(f"<td>{_inline(c)}</td>" for c in row) + "</tr>" for row in block.rows)
    note = f'<p class="note">{_inline(block.note)}</p>' if block.note else ""
    return (
        f'<div class="wide"><table><caption>{_inline(block.title)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{note}"
    )


def _inline(text: str) -> str:
    text = html.escape(text, quote=False)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", text)


NONE = "-"


def digits(value: float | None, significant: int = 3) -> str:
    """A number to some significant digits, without an exponent where that is short."""
    if value is None:
        return NONE
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.{significant - 1}e}"
    if abs(value) >= 10 ** (significant - 1):
        return f"{value:.0f}"
    text = f"{value:.{significant}g}"
    return text if "e" not in text else f"{value:.{significant}f}"


def seconds(value: float | None) -> str:
    """A time."""
    return NONE if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def known(values: Iterable[Any]) -> list[Any]:
    """Those that are not None."""
    return [value for value in values if value is not None]


def middle(values: Iterable[float | None]) -> float | None:
    """The median of those that are known."""
    found = known(values)
    return median(found) if found else None


def ranks(values: Sequence[int | None]) -> str:
    """Ranks over seeds: one number where all agree."""
    texts = [NONE if value is None else str(value) for value in values]
    return texts[0] if len(set(texts)) == 1 else " ".join(texts)


def spread(values: Iterable[float | None], show: Any = digits) -> str:
    """The median, and the least and the largest where there are several."""
    found = known(values)
    if not found:
        return NONE
    least, most = show(min(found)), show(max(found))
    return str(show(median(found))) if least == most else f"{show(median(found))} ({least} to {most})"


def times(value: float | None) -> str:
    """A ratio."""
    return NONE if value is None else f"{value:.1f}x" if value < 100 else f"{value:.0f}x"


def share(part: int, whole: int) -> str:
    """A count of hits."""
    return f"{part}/{whole}"
