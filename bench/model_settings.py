# SPDX-License-Identifier: Apache-2.0
"""Reads and changes options in the config of a model directory."""
import hashlib
import json
import re
import tomllib


def config_of(model):
    """Returns the config of a model directory, or of the best model of a run directory."""
    return next(path for path in (model / "best/config.toml", model / "config.toml") if path.exists())


def read_search(model):
    return tomllib.loads(config_of(model).read_text(encoding="utf-8"))["search"]


def change_options(model, section, settings):
    """Sets options of a section, such as search, and the hash of the config in the manifest."""
    path = model / "config.toml"
    before, section, after = path.read_text(encoding="utf-8").partition(f"[{section}]\n")
    for name, value in settings.items():
        after, found = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", after, count=1)
        after = after if found else f"{name} = {value}\n{after}"
    data = (before + section + after).encode()
    path.write_bytes(data)
    manifest = json.loads((model / "manifest.json").read_text(encoding="utf-8"))
    for file in manifest["files"]:
        if file["name"] == "config.toml":
            file.update(size=len(data), sha256=hashlib.sha256(data).hexdigest())
    (model / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
