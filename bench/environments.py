# SPDX-License-Identifier: Apache-2.0
"""Makes Python environments for programs that Edgewise is compared with."""
import pathlib
import subprocess
import sys

FIND_PYTHONS = pathlib.Path(__file__).resolve().parent.parent / "scripts/find_pythons"


def python_of(folder, name, version=None):
    """Returns the Python of FOLDER/.venv-NAME, which has the packages of FOLDER/requirements-NAME.txt. Creates or
    updates the environment if necessary, with the Python of this program or of another version, such as 3.10."""
    file = folder / f"requirements-{name}.txt"
    requirements = file.read_text(encoding="utf-8")
    environment = folder / f".venv-{name}"
    installed = environment / "installed"
    if not installed.exists() or installed.read_text(encoding="utf-8") != requirements:
        print(f"installing {name} into {environment}", file=sys.stderr, flush=True)
        interpreter = sys.executable
        if version:
            found = subprocess.run([FIND_PYTHONS, version], capture_output=True, text=True, check=True).stdout
            interpreter = found.split()[1]
        subprocess.run([interpreter, "-m", "venv", environment], check=True)
        subprocess.run([environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", file],
                       check=True)
        installed.write_text(requirements, encoding="utf-8")
    return str(environment / "bin/python")
