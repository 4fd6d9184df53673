// SPDX-License-Identifier: Apache-2.0
// Commands replace no directory without --overwrite, no input, and no file of a model or run.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/apps/foreign_models.h"
#include "tests/apps/program.h"
#include "tests/support/process.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kExists = " exists, needs the name of a new directory; overwrite (--overwrite) replaces this one";

/// Returns the bytes of all files below a directory, by path.
std::map<std::string, std::string> contents_of(const fs::path& directory) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) contents[entry.path().string()] = read_bytes(entry.path());
  }
  return contents;
}

/// Has the model directory "model", which was imported from "foreign".
class OutputPath : public ProgramTest {
 protected:
  OutputPath() {
    write("tiny.toml", kTinyConfig);
    write("in", "eu.\n");
    copy_model(list_foreign_models().front(), path("foreign"));
    run_well({"import", "foreign", "--out", "model"});
  }

  /// Expects that a command is refused and changes nothing.
  void expect_unchanged(const Words& command, const std::string& error) const {
    const auto before = contents_of(path(""));
    expect_refused(command, error);
    EXPECT_EQ(contents_of(path("")), before) << error;
  }
};

TEST_F(OutputPath, OfADirectoryThatExistsNeedsOverwrite) {
  run_well(
      {"train", "tiny.toml", "--out", "exits", "--set", "model.decoder_layers=2", "--set", "model.exits.layers=[1]"});
  run_well({"export", "model", "--format", "ctranslate2", "--out", "other"});
  const std::vector<std::pair<std::string, Words>> commands = {
      {"edgewise import", {"import", "foreign", "--out", "other"}},
      {"edgewise export", {"export", "model", "--format", "huggingface", "--out", "other"}},
      {"average", {"average", "model", "--out", "other"}},
      {"quantise", {"quantise", "model", "--out", "other"}},
      {"shortlist", {"shortlist", "model", "in", "in", "--out", "other"}},
      {"calibrate", {"calibrate", "exits", "in", "in", "--out", "other", "--loss", "99", "--risk", "0.5"}},
      {"vocab", {"vocab", "tiny.toml", "--out", "other"}},
  };
  for (auto [caller, command] : commands) {
    expect_unchanged(command, caller + ": other" + kExists);
    command.emplace_back("--overwrite");
    run_well(command);
  }
  fs::remove_all(path("other"));
  fs::create_directory(path("other"));
  run_well({"quantise", "model", "--out", "other"});
}

TEST_F(OutputPath, IsNotAnInputNorADirectoryOfOne) {
  fs::create_directory(path("outer"));
  fs::copy(path("model"), path("outer/model"));
  fs::copy(path("model/manifest.json"), path("outer/manifest.json"));
  fs::create_symlink("model", path("link"));
  const std::string is_input = " is also the input, needs another directory for the output";
  const std::vector<std::pair<Words, std::string>> commands = {
      {{"export", "model", "--format", "ctranslate2", "--out", "model"}, "edgewise export: model" + is_input},
      {{"export", "model", "--format", "ctranslate2", "--out", "link"}, "edgewise export: link" + is_input},
      {{"export", "outer/model", "--format", "ctranslate2", "--out", "outer"},
       "edgewise export: outer holds the input outer/model, needs another directory for the output"},
      {{"import", "foreign", "--out", "./foreign/"}, "edgewise import: ./foreign/" + is_input},
      {{"average", "outer/model", "model", "--out", "model"}, "average: model" + is_input},
      {{"quantise", "link", "--out", "model"}, "quantise: model" + is_input},
      {{"shortlist", "link", "in", "in", "--out", "model"}, "shortlist: model" + is_input},
      {{"calibrate", "link", "in", "in", "--out", "model"}, "calibrate: model" + is_input},
  };
  for (auto [command, error] : commands) {
    expect_unchanged(command, error);
    command.emplace_back("--overwrite");
    expect_unchanged(command, error);
  }
}

TEST_F(OutputPath, IsNotTheModelThatANameOrARunStandsFor) {
  fs::create_directories(path("models"));
  fs::copy(path("model"), path("models/eu-en"));
  const Words command = {"quantise", "eu-en", "--out", "models/eu-en", "--overwrite"};
  const ProcessResult named = run(command, {.environment = {"EDGEWISE_MODELS=" + path("models").string()}});
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_EQ(named.errors, "quantise: models/eu-en is also the input, needs another directory for the output\n");
  fs::create_directories(path("run"));
  fs::copy(path("model"), path("run/best"));
  expect_unchanged({"export", "run", "--format", "huggingface", "--out", "run/best", "--overwrite"},
                   "edgewise export: run/best is also the input, needs another directory for the output");
}

TEST_F(OutputPath, OfAFileIsNotAnInput) {
  fs::create_symlink("in", path("link"));
  fs::create_hard_link(path("in"), path("same"));
  write("in.part-00000-of-00002", "eu.\n");
  write("pairs.json", "eu. ||| eu.\n");
  const std::string is_input = " is also an input, needs another name for the output";
  const Words translate = {"translate", "--model", "model"};
  const auto and_then = [&](const Words& more) {
    Words words = translate;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  for (const char* name : {"in", "link", "same", "./in"}) {
    expect_unchanged(and_then({"in", "--out", name}), "translate: " + std::string(name) + is_input);
  }
  expect_unchanged(and_then({"in", "--text", "--out", "in"}), "translate: in" + is_input);
  expect_unchanged(and_then({"in", "--html", "--out", "in"}), "translate: in" + is_input);
  expect_unchanged(and_then({"in", "--prefix", "same", "--out", "same"}), "translate: same" + is_input);
  expect_unchanged(and_then({"in.part-00000-of-00002", "--shard", "0/2", "--out", "in"}),
                   "translate: in.part-00000-of-00002" + is_input);
  expect_unchanged({"score-pairs", "--model", "model", "in", "pairs.json", "--out", "pairs.json"},
                   "score-pairs: pairs.json" + is_input);
  expect_unchanged({"picture", "attention", "--model", "model", "--pairs", "pairs.json", "-o", "pairs.json"},
                   "picture attention: pairs.json" + is_input);
}

TEST_F(OutputPath, OfAFileIsNotTheFileThatAStreamReadsOrWrites) {
  const auto run_line = [&](const std::string& line) {
    return run_process({"/bin/sh", "-c", line, EDGEWISE_TRANSLATE}, {.folder = path("").string()});
  };
  const ProcessResult input = run_line(R"("$0" --model model --out in < in)");
  EXPECT_EQ(input.exit_code, 2);
  EXPECT_EQ(input.errors, "translate: in is also an input, needs another name for the output\n");
  EXPECT_EQ(read("in"), "eu.\n");
  const ProcessResult output = run_line(R"("$0" --model model in --out out > out)");
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_EQ(output.errors, "translate: out is the file that /dev/stdout writes, needs another name for the output\n");
}

TEST_F(OutputPath, OfAFileDoesNotBelongToAModelOrARun) {
  fs::create_directories(path("run"));
  fs::copy(path("model"), path("run/last"));
  write("run/metrics.jsonl", "{}\n");
  for (const char* file : {"model/model.safetensors", "model/manifest.json", "run/last/config.toml"}) {
    const std::string owner = fs::canonical(path(file)).parent_path().string();
    expect_unchanged({"translate", "--model", "model", "in", "--out", file},
                     "translate: " + std::string(file) + " belongs to the model or run in " + owner +
                         ", needs another name for the output");
  }
  expect_unchanged({"compare", "run", "-o", "run/metrics.jsonl"},
                   "compare: run/metrics.jsonl belongs to the model or run in " + fs::canonical(path("run")).string() +
                       ", needs another name for the output");
  write("run/page.html", "earlier");
  run_well({"picture", "graph", "causal", "-o", "run/page.html"});
  EXPECT_NE(read("run/page.html"), "earlier");
}

TEST_F(OutputPath, OfADistillationIsNeitherAModelNorARun) {
  write("distil.toml", "teachers = [\"model\"]\ninputs = [\"in\"]\nstudent = \"tiny.toml\"\n");
  fs::create_directories(path("run"));
  fs::copy(path("model"), path("run/best"));
  for (const std::string out : {"model", "run"}) {
    const std::string error =
        "distil: " + out + " holds a model, needs a directory for the steps; choose another --out";
    expect_unchanged({"distil", "distil.toml", "--out", out}, error);
    expect_unchanged({"distil", "distil.toml", "--out", out, "--overwrite"}, error);
  }
}

TEST_F(OutputPath, OfATrainingIsNeitherAModelNorARun) {
  expect_unchanged({"train", "tiny.toml", "--out", "model"},
                   "train: model is a model (manifest.json), needs a directory without one; choose another");
  fs::create_directories(path("kept"));
  fs::copy(path("model"), path("kept/step-00000012"));
  expect_unchanged({"train", "tiny.toml", "--out", "kept", "--set", "train.keep_best=1"},
                   "train: kept holds a run (step-00000012), needs a directory without one; go on with it by --resume, "
                   "or choose another");
}

}  // namespace
}  // namespace edgewise
