# SPDX-License-Identifier: Apache-2.0
"""Makes Python environments for programs that Edgewise is compared with."""
import subprocess
import sys
import venv


def python_of(folder, name):
    """Returns the Python of FOLDER/.venv-NAME, which has the packages of FOLDER/requirements-NAME.txt. Creates or
    updates the environment if necessary."""
    file = folder / f"requirements-{name}.txt"
    requirements = file.read_text(encoding="utf-8")
    environment = folder / f".venv-{name}"
    installed = environment / "installed"
    if not installed.exists() or installed.read_text(encoding="utf-8") != requirements:
        print(f"installing {name} into {environment}", file=sys.stderr, flush=True)
        venv.create(environment, with_pip=True)
        subprocess.run([environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", file],
                       check=True)
        installed.write_text(requirements, encoding="utf-8")
    return str(environment / "bin/python")
