# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of shell commands of a page."""
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time

# Runs the files that its arguments name, and keeps in $_position the file and the line of the command that runs. The
# blocks of a page share the variables, functions and background processes of one shell.
SHELL = r"""
_position=$1
shift
_block=$1
set -o functrace
trap 'echo "${BASH_SOURCE[0]:-$_block} $LINENO" >"$_position"' DEBUG
for _block; do
  . "$_block"
done
"""


def run_page(blocks, folder, limit):
    """Runs the blocks of a page in one shell that starts in `folder`. Returns None, or page:line of the command that
    failed or took longer than `limit` seconds, a reason, and the output of the page. Ends the processes that the page
    has started."""
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        files = [work / f"{number}.sh" for number in range(len(blocks))]
        for block, file in zip(blocks, files):
            # Line numbers of the file are those of the page.
            file.write_text("\n" * (block.line - 1) + block.text, encoding="utf-8")
        position, output = work / "position", work / "output"
        position.write_text("")
        # The variables of a make that runs this program are none of the reader's.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        with output.open("wb") as stream:
            shell = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", SHELL, "page", position, *files], cwd=folder, env=environment,
                stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                reason = wait(shell, position, limit)
            finally:
                end_group(shell)
        if reason is None:
            return None
        return place_of(position, files, blocks), reason, output.read_text(encoding="utf-8", errors="replace")


def wait(shell, position, limit):
    """Waits for the end of the shell. Returns None if it succeeds, or the reason of its failure."""
    while shell.poll() is None:
        if time.time() - position.stat().st_mtime > limit:
            return f"the command takes longer than {limit / 60:g} minutes"
        time.sleep(0.05)
    return f"exit code {shell.returncode}" if shell.returncode else None


def end_group(shell):
    """Ends the processes of the shell's group, first by SIGTERM and ten seconds later by SIGKILL."""
    deadline = time.time() + 10
    with contextlib.suppress(ProcessLookupError):
        os.killpg(shell.pid, signal.SIGTERM)
        while time.time() < deadline:
            shell.poll()
            os.killpg(shell.pid, 0)
            time.sleep(0.05)
        os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()


def place_of(position, files, blocks):
    """Returns page:line of the command that the shell ran last; of the first line of a block with a syntax error."""
    file, _, line = position.read_text().strip().rpartition(" ")
    block = next((block for path, block in zip(files, blocks) if str(path) == file), blocks[0])
    is_inside = block.line <= int(line or 0) < block.end
    return f"{block.page}:{line}" if is_inside else block.place
