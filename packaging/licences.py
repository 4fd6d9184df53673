# SPDX-License-Identifier: Apache-2.0
"""The licences of the Debian packages whose code a package for other machines contains."""
import functools
import pathlib
import re
import subprocess

# Packages of headers whose code is in the programs and in the extension module of Python.
HEADERS = {"libboost1.81-dev", "libcli11-dev", "libhwy-dev", "libtomlplusplus-dev"}


def run(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


@functools.cache
def known_libraries():
    """Returns the paths of this machine's shared libraries by the names that programs load them by."""
    lines = (line.split() for line in run("/sbin/ldconfig", "-p").splitlines())
    return {line[0]: line[-1] for line in lines if "=>" in line and "x86-64" in " ".join(line)}


def package_of(library):
    """Returns the Debian package of a library: NAME.so.VERSION, or NAME-HASH.so.VERSION as auditwheel calls it."""
    name = re.sub(r"-[0-9a-f]{8}\.so", ".so", pathlib.PurePath(library).name)
    path = next((path for known, path in known_libraries().items() if name.startswith(known)), None)
    if path is None:
        raise SystemExit(f"licences: {library} is no library of this machine, needs one with a licence")
    real = str(pathlib.Path(path).resolve())
    # dpkg knows some libraries by the place that they had before /lib was a link to /usr/lib.
    for place in (real, real.removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", place], text=True, capture_output=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise SystemExit(f"licences: {library} is of no Debian package, needs one with a licence")


def licences_of(libraries):
    """Returns the licence of each package that the libraries, or the headers of the programs, come from, by its name."""
    packages = sorted(HEADERS | {package_of(library) for library in libraries})
    return {package: pathlib.Path(f"/usr/share/doc/{package}/copyright").read_bytes() for package in packages}
