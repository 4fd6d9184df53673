# SPDX-License-Identifier: Apache-2.0
"""Runs the code of DGL's tutorial "Transformer as a Graph Neural Network" on edgewise.torch.

    python dgl_tutorial.py TEXT [--epochs N] [--pairs N] [--program FILE]

TEXT is the text of a page with the tutorial, in any language, as a browser saves it ("Save page as", text only). The
script takes the classes and functions of the Transformer and the training of the copy task from it, repairs what the
page prints with gaps, puts edgewise.torch in the place of dgl, and adds `dgl_tutorial_gaps.py` beside it for the
modules that the page does not print. It then runs the program: by default the 4 epochs of the text, of 9000 pairs.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

# What the program takes from the text. The class for adaptive steps and the functions of the naive way are left out.
NAMES = ["MultiHeadAttention", "src_dot_dst", "scaled_exp", "Encoder", "Decoder", "Transformer"]

HEADER = """\
import numpy as np
import torch as th
import torch.nn as nn

import dgl_tutorial_gaps as gaps
import edgewise.torch as dgl
import edgewise.torch.function as fn
from dgl_tutorial_gaps import (
    GraphPool, LabelSmoothing, LayerNorm, NoamOpt, SimpleLossCompute, clones, get_dataset, tqdm)

"""
MAKE_MODEL = "make_model = gaps.model_maker(MultiHeadAttention, Encoder, Decoder, Transformer)\n\n"


def blocks_of(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields the classes and functions at the beginning of a line: their names and their lines."""
    for i, line in enumerate(lines):
        match = re.match(r"(?:class|def) (\w+)\(", line)
        if match is None:
            continue
        end = i + 1
        while end < len(lines) and (lines[end].startswith((" ", "\t")) or not lines[end].strip()):
            end += 1
        yield match[1], lines[i:end]


def restore_names(lines: list[str]) -> Iterator[str]:
    """Puts back the columns' owners, which a page with links leaves out: `=['x']` was `= nodes.data['x']`."""
    owner = None
    for line in lines:
        function = re.match(r"\s*def \w+\((nodes|edges)\):", line)
        owner = function[1] if function else owner
        inline = re.search(r"lambda (\w+):", line)
        name = inline[1] if inline else owner
        if name is not None:
            line = re.sub(r"""(?<![\w\])'"])\[(?='\w+'\]|field\])""", f"{name}.data[", line)
            line = re.sub(r"=(?=(?:nodes|edges)\.data)", "= ", line)
        yield line


def restore_lines(lines: list[str]) -> Iterator[str]:
    """Puts back the lines that a page leaves out: calls of send_and_recv, and an else."""
    before = ""
    for line in lines:
        indent = before[:len(before) - len(before.lstrip())]
        if line.lstrip().startswith("[fn.") and not before.rstrip().endswith((",", "(")):
            yield f"{indent}g.send_and_recv(eids,"
        if before.lstrip().startswith("norm_x =") and line.lstrip().startswith("norm_x ="):
            yield f"{indent[:-4]}else:"
        if line.strip():
            before = line
        yield line


def is_code(line: str) -> bool:
    return not line.strip() or line[0] in " #)" or re.match(
        r"(?:from|import|def|class|for|if)\s|[\w., ]+ =|\w+(?:\.\w+)*\(", line) is not None


def training_of(lines: list[str]) -> list[str]:
    """Returns the program that trains: from the first import to the text after it."""
    begin = next((i for i, line in enumerate(lines) if line.startswith("from tqdm")), None)
    if begin is None:
        sys.exit("dgl_tutorial: the text has no line that begins with 'from tqdm', needs the tutorial's training")
    end = begin
    while end < len(lines) and is_code(lines[end]):
        end += 1
    program = [line for line in lines[begin:end] if not re.match(r"(?:from|import)\s", line)]
    return list(restore_training(program))


def restore_training(lines: list[str]) -> Iterator[str]:
    """Puts back what links hid in the training: the devices, the modes of the model, the attention maps."""
    has_modes = any(".train(" in line for line in lines)
    for line in lines:
        line = re.sub(r"^model, criterion =\[0\]\),\[0\]\)",
                      "model, criterion = model.to(devices[0]), criterion.to(devices[0])", line)
        yield line
        indent = line[:len(line) - len(line.lstrip())]
        if not has_modes and "Training..." in line:
            yield f"{indent}model.train(True)"
        if not has_modes and "Evaluating..." in line:
            yield f"{indent}model.eval()"


def make_program(text: str, epochs: int | None = None) -> str:
    """Returns the program of a tutorial's text."""
    lines = text.replace("\u00a0", " ").splitlines()
    found = dict(blocks_of(lines))
    missing = [name for name in NAMES if name not in found]
    if missing:
        sys.exit(f"dgl_tutorial: the text has no {missing[0]}, needs the tutorial's code")
    code = [line for name in NAMES for line in restore_lines(list(restore_names(found[name])))]
    training = "\n".join(training_of(lines))
    if epochs is not None:
        training = training.replace("range(4)", f"range({epochs})")
    return f"{HEADER}{chr(10).join(code)}\n\n{MAKE_MODEL}graph_pool = GraphPool()\n\n{training}\n"


def run(program: str, pairs: int | None = None) -> dict[str, Any]:
    """Runs a program, and returns its variables."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    try:
        import dgl_tutorial_gaps

        if pairs is not None:
            dgl_tutorial_gaps.sizes["train"] = pairs
        names: dict[str, Any] = {"__name__": "dgl_tutorial_program"}
        exec(compile(program, "the tutorial's program", "exec"), names)
    finally:
        sys.path.pop(0)
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs the code of DGL's tutorial on edgewise.torch.")
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, help="the number of epochs; 4 in the text")
    parser.add_argument("--pairs", type=int, help="the number of pairs of an epoch; by default 9000")
    parser.add_argument("--program", type=pathlib.Path, help="a file to write to, in the place of running")
    arguments = parser.parse_args()
    program = make_program(arguments.text.read_text(encoding="utf-8"), arguments.epochs)
    if arguments.program is not None:
        arguments.program.write_text(program, encoding="utf-8")
        return
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # the program takes the first GPU, if there is one; graphs are on the CPU
    run(program, arguments.pairs)


if __name__ == "__main__":
    main()
