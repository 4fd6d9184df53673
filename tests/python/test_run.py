# SPDX-License-Identifier: Apache-2.0
import base64
import json
import math
import pickle
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import edgewise


@pytest.fixture
def run(model, tmp_path):
    """A copy of the run of the tiny model, for changes."""
    shutil.copytree(model.parent, tmp_path / "run")
    return edgewise.Run(tmp_path / "run")


def write_metrics(path, text):
    path.mkdir(exist_ok=True)
    (path / "metrics.jsonl").write_text(text)
    return edgewise.Run(path)


def test_metrics_are_columns_with_a_row_for_each_step(run):
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    metrics = run.metrics()

    assert list(metrics)[:2] == ["step", "epoch"]
    assert metrics["step"] == sorted({line["step"] for line in lines})
    assert set(metrics) == {name for line in lines for name in line}
    for row, step in enumerate(metrics["step"]):
        expected = {name: value for line in lines if line["step"] == step for name, value in line.items()}
        assert {name: column[row] for name, column in metrics.items() if column[row] is not None} == expected


def test_of_two_values_of_a_step_the_later_one_counts(tmp_path):
    run = write_metrics(tmp_path / "run", '{"step": 4, "loss": 1}\n{"step": 2, "loss": 2}\n{"step": 4, "loss": 3}\n')
    assert run.metrics() == {"step": [2, 4], "epoch": [None, None], "loss": [2, 3]}


def test_a_value_that_is_not_finite_is_nan_and_one_that_was_not_measured_is_none(tmp_path):
    metrics = write_metrics(tmp_path / "run", '{"step": 1, "loss": null}\n{"step": 2, "valid_loss": 1.5}\n').metrics()
    assert math.isnan(metrics["loss"][0])
    assert (metrics["loss"][1], metrics["valid_loss"]) == (None, [None, 1.5])


def test_ponder_steps_are_numbers_of_nodes_by_their_steps(tmp_path):
    run = write_metrics(tmp_path / "run", '{"step": 1, "valid_encoder_steps": {"2": 40, "10": 5}}\n')
    assert run.metrics()["valid_encoder_steps"] == [{2: 40, 10: 5}]


def test_losses_at_exits_are_numbers_by_their_layers(tmp_path):
    metrics = write_metrics(tmp_path / "run", '{"step": 1, "valid_exit_loss": {"2": 1.5, "4": null}}\n').metrics()
    assert metrics["valid_exit_loss"][0][2] == 1.5
    assert math.isnan(metrics["valid_exit_loss"][0][4])


def test_a_line_that_a_training_is_writing_is_left_out(run):
    before = run.metrics()
    with open(run.path / "metrics.jsonl", "a") as file:
        file.write('{"step": 1000, "lo')
    assert run.metrics() == before


def test_metrics_grow_while_the_run_trains(tiny, tmp_path):
    sizes = []

    def look(line):
        if line.startswith("step "):
            sizes.append(len(edgewise.Run(tmp_path / "run").metrics()["step"]))

    edgewise.train(tiny, tmp_path / "run", set={"train.log_every": 5}, on_line=look)
    assert sizes[0] < sizes[-1]
    assert sizes == sorted(sizes)


def test_a_run_that_has_just_begun_has_no_metrics_and_no_model(tmp_path):
    (tmp_path / "lock").touch()
    run = edgewise.Run(tmp_path)
    assert run.metrics() == {"step": [], "epoch": []}
    with pytest.raises(edgewise.Error) as error:
        run.best_model
    assert str(error.value) == f"Run: {tmp_path} has no model yet, needs a validation or a checkpoint"


@pytest.mark.parametrize("line, text", [
    ('{"step": 20, "epo', " is not JSON: Unterminated string starting at: line 1 column 14 (char 13); needs an object on "
                          "each line"),
    ("\0\0\0", " is not JSON: Expecting value: line 1 column 1 (char 0); needs an object on each line"),
    ('{"step": 1, "loss": NaN}', " is not JSON: NaN is no number of JSON; needs an object on each line"),
    ("[3]", " is [3], needs an object"),
    ('{"epoch": 3}', " has no step, needs one"),
    ('{"step": "x"}', ": step is 'x', needs a whole number"),
    ('{"step": 1, "loss": "x"}', ": loss is 'x', needs a number"),
    ('{"step": 1, "valid_encoder_steps": 3}', ": valid_encoder_steps is 3, needs numbers of nodes by their steps"),
    ('{"step": 1, "valid_exit_loss": {"a": 3}}', ": valid_exit_loss is {'a': 3}, needs losses by their layers"),
])
def test_a_damaged_line_is_an_error_that_names_it(line, text, tmp_path):
    run = write_metrics(tmp_path, '{"step": 1, "loss": 2}\n' + line + "\n")
    with pytest.raises(edgewise.Error) as error:
        run.metrics()
    assert str(error.value) == f"metrics: {tmp_path / 'metrics.jsonl'}:2{text}"


def test_bytes_that_are_no_text_are_an_error(tmp_path):
    run = write_metrics(tmp_path, "")
    (tmp_path / "metrics.jsonl").write_bytes(b'{"step": 1, "\xff": 2}\n')
    with pytest.raises(edgewise.Error, match="metrics.jsonl:1 is not JSON: "):
        run.metrics()


def test_metrics_are_a_data_frame_of_pandas(run):
    pandas = pytest.importorskip("pandas")
    frame = run.metrics_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.index) == run.metrics()["step"]
    assert frame["valid_loss"].min() == min(run.metrics()["valid_loss"])
    assert math.isnan(frame["loss"].iloc[0])


def test_without_pandas_the_error_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(edgewise.Error) as error:
        run.metrics_frame()
    assert str(error.value) == "metrics_frame: pandas is not installed, needs it; pip install pandas"


def test_the_best_model_is_the_last_one_if_none_was_validated(run):
    assert run.best_model == run.path / "best"
    shutil.rmtree(run.path / "best")
    assert run.best_model == run.path / "last"
    assert run.translator().translate("a b").text


def test_a_run_is_a_path_of_a_model(run):
    assert edgewise.Translator(run).translate("a b").text == run.translator().translate("a b").text
    assert pickle.loads(pickle.dumps(run)) == run == edgewise.Run(str(run.path))
    assert repr(run) == f"edgewise.Run({str(run.path)!r})"


def test_a_directory_of_something_else_is_no_run(tmp_path):
    for path, what in ((tmp_path, "is no run directory"), (tmp_path / "none", "does not exist")):
        with pytest.raises(edgewise.Error) as error:
            edgewise.Run(path)
        assert str(error.value) == f"Run: {path} {what}, needs the directory that train wrote"
    with pytest.raises(TypeError) as error:
        edgewise.Run(3)
    assert str(error.value) == "Run: path is 3, needs a str or a path"


def test_a_run_displays_its_curves_in_a_notebook(run, tmp_path):
    hostile = tmp_path / "<script>alert(1)<script>"
    shutil.copytree(run.path, hostile)
    html = edgewise.Run(hostile)._repr_html_()

    image = re.search(r'src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"', html)
    root = ElementTree.fromstring(base64.b64decode(image[1]))
    texts = "".join(root.itertext())
    assert "Learning rate" in texts
    assert html.count("<figure>") == html.count("</figure>") == 1
    assert "<script>" not in html


def test_without_curves_a_run_is_text(run, tmp_path, monkeypatch):
    damaged = write_metrics(run.path, "no JSON\n")
    assert damaged._repr_html_() is None
    monkeypatch.setenv("EDGEWISE_PROGRAM", str(tmp_path / "none"))
    assert run._repr_html_() is None
