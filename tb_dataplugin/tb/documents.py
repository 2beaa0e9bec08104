"""Pages of `docs/` as a browser shows them: links from the page's help lead there."""

from __future__ import annotations

import functools
import html
import re
from pathlib import Path

from tensorboard import plugin_util

DOCS = Path(__file__).parent.parent / "docs"
"""In the source a link to the folder of all documents; a wheel has copies of the texts."""

HEADING = re.compile(r"<(h[1-6])>(.*?)</\1>", re.DOTALL)
LINK = re.compile(r'(<a href="\w+\.md)')
"""To another document."""

LINK_OUT = re.compile(r'<a href="\.\./[^"]*">(.*?)</a>', re.DOTALL)
"""To a file beside `docs/`, which TensorBoard does not serve."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #FFFFFF; --ink: #1B1F24; --muted: #57606A; --rule: #E4E7EB; --accent: #0B57D0; --code: #F5F6F8;
}
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; DARK }
@media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { DARK } }
html { background: var(--paper); color: var(--ink); font: 14px/1.6 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 62em; margin: 0 auto; padding: 16px 24px 64px; overflow-wrap: break-word; }
h1 { font-size: 22px; } h2 { font-size: 17px; margin-top: 2em; } h3 { font-size: 14px; margin-top: 1.6em; }
a { color: var(--accent); text-decoration: none; } p a, li a, td a, a:hover { text-decoration: underline; }
code, pre { font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { background: var(--code); padding: 8px 12px; overflow-x: auto; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 4px 16px 4px 0; border-bottom: 1px solid var(--rule); }
th { color: var(--muted); font-weight: 600; }
""".replace(
    "DARK", "--paper: #202225; --ink: #E8EAED; --muted: #A9B1BA; --rule: #373B40; --accent: #8AB4F8; --code: #2A2D31;"
)


def document(name: str, theme: str = "") -> str | None:
    """A page of `docs/`, by its file's name, as HTML; None where there is none.

    `theme` is "light", "dark", or "" for the one of the reader's system.
    """
    path = DOCS / Path(name).name
    known = theme if theme in ("light", "dark") else ""
    try:
        return _page(path.read_text("utf-8"), known) if path.suffix == ".md" else None
    except (OSError, ValueError):  # a name with NUL is a ValueError
        return None


@functools.lru_cache(maxsize=64)
def _page(text: str, theme: str) -> str:
    body = plugin_util.markdown_to_safe_html(text)
    body = LINK_OUT.sub(r"\1", HEADING.sub(_with_anchor, body))
    if theme:
        body = LINK.sub(rf"\1?theme={theme}", body)
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    return f"""<!doctype html>
<html lang="en" data-theme="{theme}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{html.escape(title[1] if title else "tb-dataplugin")}</title><style>{STYLE}</style></head>
<body><main>{body}</main></body>
</html>
"""


def _with_anchor(heading: re.Match[str]) -> str:
    """Named as GitHub names it: links between the documents lead to sections."""
    level, inner = heading.groups()
    words = html.unescape(re.sub(r"<[^>]+>", "", inner)).lower()
    anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
    return f'<{level} id="{html.escape(anchor)}">{inner}</{level}>'
