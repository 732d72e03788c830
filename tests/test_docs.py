"""The documentation says what is so: commands, links, the tree, the examples."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from multilingual_math_audit.cli import VERBS, cli

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))


def _commands_page() -> str:
    context = click.Context(cli, info_name="math-audit", terminal_width=110, **cli.context_settings)
    parts = ["# Commands\n", "Every verb with its help, as `math-audit VERB --help` prints it.\n"]
    for name in VERBS:
        command = cli.get_command(context, name)
        assert command is not None
        parts.append(f"## {name}\n")
        for words, verb in _with_children(name, command, context):
            inner = click.Context(verb, info_name=words, parent=context, terminal_width=110)
            parts.append(f"```\n{verb.get_help(inner)}\n```\n")
    return "\n".join(parts)


def _with_children(name: str, command: click.Command, context: click.Context) -> list[tuple[str, click.Command]]:
    children = [(f"{name} {child}", verb) for child, verb in getattr(command, "commands", {}).items()]
    return [(name, command), *children]


def test_commands_page_is_the_help() -> None:
    """docs/commands.md is what the command prints; MATH_AUDIT_REFRESH=1 writes it anew.

    A process of its own prints it: click keeps a verb's help option as it was first asked for, by whichever test.
    """
    page = ROOT / "docs" / "commands.md"
    printed = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True).stdout
    text = "\n".join(line.rstrip() for line in printed.splitlines()) + "\n"
    if os.environ.get("MATH_AUDIT_REFRESH"):
        page.write_text(text, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_documented_and_has_examples(verb: str) -> None:
    """A verb stands in the pages written by hand, has a sentence of help, and closes with examples that name it."""
    written = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "commands.md")
    written += (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"math-audit {re.escape(verb)}\b|make {re.escape(verb)}\b", written), "not in docs/"
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    assert command.help
    assert "Examples:" in (command.epilog or "")
    assert f"math-audit {verb}" in (command.epilog or "")


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names a file that is there."""
    links = re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_tree_is_the_real_tree() -> None:
    """The README's tree has every folder that git tracks at the root, and no other."""
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("## The house")[1].split("```")[1]
    named = {line.split("/")[0] for line in block.strip().splitlines()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folders = {name.split("/")[0] for name in tracked.splitlines() if "/" in name and not name.startswith(".")}
    assert named == folders


def test_the_readmes_first_commands_are_verbs_of_the_makefile() -> None:
    """`make demo` and `make test` are the first block, and both are there."""
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    block = readme.split("```bash")[1].split("```")[0]
    assert re.findall(r"^make (\w+)", block, re.MULTILINE) == ["demo", "test"]
    for verb in ("setup", "demo", "test", "check", "bench", "leaderboard", "docs", "vllm-cpu"):
        assert re.search(rf"^{verb}:", makefile, re.MULTILINE), verb


def test_the_readmes_python_holds() -> None:
    """Each line of the README's Python block gives the value written behind it."""
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("```python")[1].split("```")[0]
    names: dict[str, object] = {}
    checked = 0
    for line in block.strip().splitlines():
        code, _, expected = line.partition("  # ") if "  # " in line else line.partition("   # ")
        if not expected:
            exec(line, names)
            continue
        value = eval(code, names)
        shown = f"{value:.4f}" if isinstance(value, float) else repr(value)
        assert shown == expected.strip()
        checked += 1
    assert checked == 3


def test_the_commands_of_the_pages_exist() -> None:
    """Every `math-audit VERB` in a block of any page is a verb, and its options are options of that verb."""
    context = click.Context(cli)
    faults = []
    for page in [ROOT / "README.md", *PAGES]:
        if page.name == "commands.md":
            continue
        for block in re.findall(r"```(?:bash|sh|console)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                for words in re.findall(r"math-audit ([^|;&#\n]+)", line):
                    faults += _faults_of(words.split(), context, page.name)
    assert faults == []


def _faults_of(words: list[str], context: click.Context, page: str) -> list[str]:
    if words[0] in ("--help", "--version", "-h"):
        return []
    if words[0] not in VERBS:
        return [f"{page}: no verb {words[0]!r}"]
    command = cli.get_command(context, words[0])
    inner = getattr(command, "commands", {})
    if inner and len(words) > 1 and words[1] in inner:
        command = inner[words[1]]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}  # type: ignore[union-attr]
    used = {word.split("=")[0] for word in words if word.startswith("--")}
    return [f"{page}: {words[0]} has no option {name}" for name in sorted(used - known - {"--help"})]


@pytest.mark.parametrize("folder", ["multilingual_math_audit", "evaluate", "docs", "tests", "bench"])
def test_nothing_speaks_of_this_machine(folder: str) -> None:
    """No tracked text names a path of a developer's machine."""
    files = subprocess.run(
        ["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    pattern = re.compile("|".join((r"/wo" + r"rk/", r"/opt/" + r"mma", r"/ro" + r"ot/")))
    found = [
        name
        for name in files
        if (path := ROOT / name).is_file()
        and path.suffix in (".py", ".md", ".yaml", ".cfg", ".toml", ".json", ".jsonl")
        and pattern.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


if __name__ == "__main__":
    print(_commands_page(), end="")
