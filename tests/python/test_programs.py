# SPDX-License-Identifier: Apache-2.0
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import urllib.request

import pytest
from conftest import SOURCE, program

import edgewise

SCRIPTS = pathlib.Path(sys.executable).parent


def run(*arguments, text=""):
    return subprocess.run([SCRIPTS / arguments[0], *map(str, arguments[1:])], input=text, text=True,
                          capture_output=True)


def test_the_wheel_has_the_program_that_translates(model, translator):
    result = run("edgewise-translate", "--model", model, text="a b c\n")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == translator.translate("a b c").text + "\n"
    assert run("edgewise-translate", "--version").stdout == f"edgewise-translate {edgewise.__version__}\n"


def test_a_program_of_the_wheel_ends_as_the_program_does(model):
    result = run("edgewise-translate", "--model", "none")
    assert result.returncode == 2
    assert result.stderr.startswith("translate: ")


def test_the_programs_of_the_wheel_find_the_models_that_python_finds(model, tmp_path):
    # The package edgewise-models, in another folder than edgewise.
    (tmp_path / "packages/edgewise_models").mkdir(parents=True)
    (tmp_path / "packages/edgewise_models/__init__.py").touch()
    shutil.copytree(model, tmp_path / "packages/edgewise_models/xx-yy")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "packages"), "EDGEWISE_MODELS": str(tmp_path / "own")}
    command = [SCRIPTS / "edgewise-translate", "--model", "xx-yy"]
    expected = run("edgewise-translate", "--model", model, text="a b c\n").stdout
    assert subprocess.check_output(command, env=environment, input="a b c\n", text=True) == expected
    code = "import edgewise; print(edgewise.Translator('xx-yy').translate('a b c').text)"
    assert subprocess.check_output([sys.executable, "-c", code], env=environment, text=True) == expected
    # The folders of the variable come before.
    (tmp_path / "own/xx-yy").mkdir(parents=True)
    (tmp_path / "own/xx-yy/manifest.json").touch()
    result = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert result.stderr.startswith(f"translate: {tmp_path}/own/xx-yy/manifest.json, ")


@pytest.mark.skipif(importlib.util.find_spec("edgewise_models") is not None, reason="the models are installed")
def test_without_the_models_an_error_says_how_to_install_them(monkeypatch):
    monkeypatch.delenv("EDGEWISE_MODELS", raising=False)
    names = sorted(path.parent.name for path in SOURCE.glob("models/*/manifest.json"))
    command = "make python-models-wheel && pip install dist/edgewise_models-*.whl"
    advice = f", which have none; in a clone of Edgewise, {command} adds {', '.join(names)}"
    for name in ("xx-yy", names[0]):
        with pytest.raises(edgewise.Error) as error:
            edgewise.Translator(name)
        assert str(error.value).endswith(advice)
        for arguments in (["edgewise-translate", "--model", name], ["edgewise-server", "--model", name]):
            result = run(*arguments)
            assert (result.returncode, result.stderr.endswith(advice + "\n")) == (2, True), result.stderr
    # Models of the same names from elsewhere need no installation.
    monkeypatch.setenv("EDGEWISE_MODELS", str(SOURCE / "models"))
    with pytest.raises(edgewise.Error, match=f", which have {', '.join(names)}$"):
        edgewise.Translator("xx-yy")


@contextlib.contextmanager
def serving(command, model, pairs):
    """Runs a server while the context lasts; yields its address."""
    server = subprocess.Popen([*command, "--model", f"{pairs}={model}", "--set", "http.listen=127.0.0.1:0"],
                              stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stderr.readline()
        while "ready at " not in line:
            assert line, "the server ended before it was ready"
            line = server.stderr.readline()
        yield line.split("ready at ")[1].split()[0]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
    assert server.returncode in (0, 128 + signal.SIGTERM)


def reply_of(address, path, fields=None):
    request = urllib.request.Request(address + path, fields and json.dumps(fields).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def test_the_wheel_has_the_server(model, translator):
    with serving([SCRIPTS / "edgewise-server"], model, "en-fr") as address:
        reply = reply_of(address, "/translate", {"q": "a b c", "source": "en", "target": "fr"})
        assert reply["translatedText"] == translator.translate("a b c").text


def test_the_server_of_the_wheel_has_the_names_and_codes_of_languages(model):
    # The wheel has only a part of ICU's data.
    pairs = "pt_BR+zh_Hant+sr_Latn+iw+fil+nb+en_GB-de+cmn+quz+ckb+sgn"
    with serving([SCRIPTS / "edgewise-server"], model, pairs) as of_wheel, serving([program(), "serve"], model,
                                                                                    pairs) as of_build:
        languages = reply_of(of_wheel, "/languages")
        assert languages == reply_of(of_build, "/languages")
        assert {"Portuguese (Brazil)", "Hebrew"} <= {language["name"] for language in languages}
