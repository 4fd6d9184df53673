# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import urllib.request

from conftest import program

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
    pairs = "pt_BR+zh_Hant+sr_Latn+iw+tl+fil+nb+en_GB-de+cmn+quz+ckb+sgn"
    with serving([SCRIPTS / "edgewise-server"], model, pairs) as of_wheel, serving([program(), "serve"], model,
                                                                                    pairs) as of_build:
        languages = reply_of(of_wheel, "/languages")
        assert languages == reply_of(of_build, "/languages")
        assert {"Portuguese (Brazil)", "Hebrew"} <= {language["name"] for language in languages}
