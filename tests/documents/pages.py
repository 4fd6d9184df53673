# SPDX-License-Identifier: Apache-2.0
"""The blocks of code of README.md and the pages of docs/."""
import dataclasses
import re


@dataclasses.dataclass
class Block:
    page: str  # relative to the root
    line: int  # the number of the first line of `text` in the page
    language: str
    text: str

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def end(self):
        """The number of the line behind the last one of `text`."""
        return self.line + self.text.count("\n")


def blocks_of(page, text, language):
    """Lists the fenced blocks of a page that have a language."""
    blocks, block = [], None
    for number, line in enumerate(text.split("\n"), 1):
        if block is None and (fence := re.fullmatch(r"(`{3,})(\w*)", line.rstrip())):
            block, end = Block(page, number + 1, fence[2], ""), fence[1]
        elif block is not None and line.rstrip() == end:
            blocks.append(block)
            block = None
        elif block is not None:
            block.text += line + "\n"
    return [block for block in blocks if block.language == language]


def list_pages(root):
    """Lists README.md and the pages of docs/ in the order of docs/index.md; a page that it does not name comes last."""
    index = root / "docs/index.md"
    named = re.findall(r"\]\(([\w-]+\.md)", index.read_text(encoding="utf-8")) if index.exists() else []
    others = sorted(path.name for path in (root / "docs").glob("*.md"))
    pages = ["README.md", *(f"docs/{name}" for name in [*named, *others])]
    return [page for page in dict.fromkeys(pages) if (root / page).exists()]
