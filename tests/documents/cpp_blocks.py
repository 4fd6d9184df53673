# SPDX-License-Identifier: Apache-2.0
"""Compiles blocks of C++ against the installed library."""
import re
import subprocess

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(documents LANGUAGES CXX)
find_package(edgewise REQUIRED COMPONENTS infer convert train)
link_libraries(edgewise::infer edgewise::convert edgewise::train)
"""
# The begin of a definition that no function may contain.
DEFINITION = re.compile(r"^(?:(?:namespace|template)\b|(?!(?:if|for|while|switch)\b)"
                        r"[\w:<>,&* ]+[ &*][\w:]+\([^=;\[]*\)[ \w]*\{)", re.MULTILINE)
INCLUDE = re.compile(r"^#include .*$")


def translation_unit(block):
    """Returns a source with the lines of a block: as they are if they define a function, or else as the body of
    a function behind the #include lines. Messages of the compiler name the lines of the page."""
    here = f'#line {block.line} "{block.page}"\n'
    if DEFINITION.search(block.text):
        return here + block.text
    lines = block.text.split("\n")
    includes = [line if INCLUDE.match(line) else "" for line in lines]
    body = ["" if INCLUDE.match(line) else line for line in lines]
    return here + "\n".join(includes) + "\nvoid run_block() {\n" + here + "\n".join(body) + "\n}\n"


def is_program(block):
    return re.search(r"^int main\(", block.text, re.MULTILINE) is not None


def run(*command):
    """Runs a command, and returns None, or a text with its output if it fails."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return f"{result.stdout}exit code {result.returncode}" if result.returncode else None


def compile_blocks(blocks, clone, work):
    """Installs the library of a clone's build into `work`, and compiles each block there; links the programs. Yields
    (place, reason, output) of each block that fails, or of the first one if the library cannot be used."""
    torch = next(clone.glob(".venv/lib/python3*/site-packages/torch"), "")
    installed = work / "installed"
    steps = [("cmake", "--install", clone / "build", "--prefix", installed, "--component", component)
             for component in ("infer", "convert", "train")]
    project = PROJECT
    for number, block in enumerate(blocks):
        (work / f"block_{number}.cc").write_text(translation_unit(block), encoding="utf-8")
        kind = "" if is_program(block) else " OBJECT"
        project += f"add_{'library' if kind else 'executable'}(block_{number}{kind} block_{number}.cc)\n"
    (work / "CMakeLists.txt").write_text(project)
    steps.append(("cmake", "-S", work, "-B", work / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}",
                  f"-DEDGEWISE_TORCH_DIR={torch}"))
    for step in steps:
        if output := run(*step):
            yield blocks[0].place, "the library cannot be used", output
            return
    for number, block in enumerate(blocks):
        if output := run("cmake", "--build", work / "build", "--target", f"block_{number}"):
            yield block.place, "it does not compile", output
