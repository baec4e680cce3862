"""Write a page for each command of the command line, from its help texts and options."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

from lowrankgcn.cli.app import app as command_line


def write_pages(app: Sphinx) -> None:
    """Write the pages into reference/commands; files that are up to date keep their dates."""
    folder = Path(app.srcdir, "reference", "commands")
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"{name}.md": text for name, text in _pages()}
    for stale in {path.name for path in folder.iterdir()} - pages.keys():
        (folder / stale).unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _pages() -> list[tuple[str, str]]:
    group: Any = typer.main.get_command(command_line)
    context = group.make_context("lowrankgcn", [], resilient_parsing=True)
    commands = group.commands
    rows = [f"| [{name}]({name}.md) | {c.help.splitlines()[0]} |" for name, c in commands.items()]
    toctree = ["```{toctree}", ":hidden:", "", *commands, "```"]
    table = ["", "| command | purpose |", "|---|---|", *rows]
    index = ["# Commands", *_body(group, context, table), "", *toctree, ""]
    pages = [("index", "\n".join(index))]
    for name, command in commands.items():
        inner = command.make_context(name, [], parent=context, resilient_parsing=True)
        text = "\n".join([f"# lowrankgcn {name}", *_body(command, inner), ""])
        pages.append((name, text))
    return pages


def _body(command: Any, context: Any, table: list[str] | None = None) -> list[str]:
    """Return usage, description, commands, examples, arguments and options in Markdown."""
    usage = command.get_usage(context).removeprefix("Usage: ")
    lines = ["", "```text", usage, "```", "", command.help, *(table or [])]
    if command.epilog:
        examples = [line for line in command.epilog.splitlines()[1:] if line]
        lines += ["", "## Examples", "", "```sh", *examples, "```"]
    lines += ["", f"```{{program}} {context.command_path}", "```"]
    sections: dict[str, list[Any]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(context):
        if getattr(parameter, "hidden", False):  # an option that is refused with a hint
            continue
        kind = f"{parameter.param_type_name.title()}s"
        panel = getattr(parameter, "rich_help_panel", None) or kind
        sections.setdefault(panel, []).append(parameter)
    entries = (
        (["", f"## {title}"], *(_entry(parameter, context) for parameter in parameters))
        for title, parameters in sections.items()
        if parameters
    )
    return [*lines, *chain.from_iterable(chain.from_iterable(entries))]


def _entry(parameter: Any, context: Any) -> list[str]:
    """Return a parameter as a directive: its names, its help and, as code, its default."""
    names, text = parameter.get_help_record(context)
    names = re.sub(r" <[^|]*>$", "", names).replace(" / ", ", ")  # a type, or a list of choices
    text, _, facts = text.partition("  [")
    text = re.sub(r"(?<![\w`-])--[a-z-]+", r"`\g<0>`", text)
    facts = f" `[{facts}`" if facts else ""
    return ["", f"```{{option}} {names}", f"{text}{facts}", "```"]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
