// SPDX-License-Identifier: Apache-2.0
// Run directories that were altered by accident or on purpose: resuming takes the checkpoint before the altered one and
// ends with the same bits, or refuses the directory with one sentence that names the file.
#include <gmock/gmock.h>

#include "edgewise/base/files/manifest.h"
#include "tests/apps/alterations.h"
#include "tests/apps/forked_program.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kState = "training.toml";
constexpr const char* kTensors = "training.safetensors";

const std::vector<std::string> kCheckpointFiles = {"config.toml", "model.safetensors", "vocabulary.txt", kTensors,
                                                   kState};

class TrainHostileRun : public ProgramTest {
 protected:
  static void SetUpTestSuite() {
    pristine_ = fs::temp_directory_path() / ("edgewise-hostile-run-" + std::to_string(getpid()));
    ASSERT_NO_FATAL_FAILURE(train_run_in(pristine_));
    weights_ = read_bytes(pristine_ / "run/last/model.safetensors");
  }
  static void TearDownTestSuite() { fs::remove_all(pristine_); }

  /// Copies the run and alters its folder `part`; with `is_listed`, also writes the manifest of this folder again.
  void alter(const Alteration& alteration, const std::string& part, bool is_listed) const {
    fs::remove_all(path("run"));
    fs::copy(pristine_, path(""), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    alteration.apply(path("run") / part);
    if (is_listed) write_manifest(path("run") / part, kCheckpointFiles);
  }

  ProcessResult resume() const {
    return run_edgewise_briefly({"train", "tiny.toml", "--out", "run", "--resume"}, {.folder = path("").string()});
  }

  /// Expects that resuming ends with the bits of the unaltered run.
  void expect_same_end(const Alteration& alteration) const {
    SCOPED_TRACE(alteration.file + ": " + alteration.name);
    alter(alteration, "last", false);
    const ProcessResult result = resume();
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_THAT(result.errors, testing::HasSubstr("run/last is damaged (run/last/" + alteration.file));
    EXPECT_TRUE(read("run/last/model.safetensors") == weights_);
    EXPECT_LT(result.peak_memory, 1'000'000'000);
  }

  void expect_refused_run(const Alteration& alteration, const std::string& part, bool is_listed) const {
    SCOPED_TRACE(alteration.file + ": " + alteration.name);
    alter(alteration, part, is_listed);
    expect_refusal(resume(), alteration);
  }

 private:
  inline static fs::path pristine_;
  inline static std::string weights_;
};

TEST_F(TrainHostileRun, GoesOnFromTheCheckpointBeforeASpoiledOne) {
  for (const Alteration& alteration : spoil(kState)) expect_same_end(alteration);
  for (const char* file : {"config.toml", "model.safetensors", "vocabulary.txt", kTensors, "manifest.json"}) {
    for (const Alteration& alteration : spoil(file)) {
      if (alteration.name == "a FIFO" || alteration.name == "8 TB long" || alteration.name == kFlippedBit) {
        expect_same_end(alteration);
      }
    }
  }
}

TEST_F(TrainHostileRun, GoesOnFromTheCheckpointBeforeOneThatDoesNotListAFile) {
  for (const std::string& file : kCheckpointFiles) {
    expect_same_end(change("does not list " + file, "manifest.json", [file](const std::string& bytes) {
      Manifest manifest = parse_manifest(bytes, "test");
      std::erase_if(manifest.files, [&](const ManifestEntry& entry) { return entry.name == file; });
      return manifest_text(manifest);
    }));
  }
}

TEST_F(TrainHostileRun, IsRefusedForAStateThatDoesNotFit) {
  Alteration other_kind = replace(kState, "kind = \"transformer\"", "kind = \"other\"", Effect::kRefused,
                                  "holds a model of kind \"other\", needs \"transformer\"");
  other_kind.file = "run/last";  // the error names the directory
  for (const Alteration& alteration :
       {replace(kState, "format = 3", "format = 4"), replace(kState, "step = 20", "step = -1"),
        replace(kState, "step = 20", "step = 9223372036854775808"), replace(kState, "step = 20", "steps = 20"),
        other_kind, replace(kTensors, "F32", "F64"), replace(kTensors, "F32", "I32")}) {
    expect_refused_run(alteration, "last", true);
  }
}

TEST_F(TrainHostileRun, IsRefusedIfAFileToWhichItAppendsIsNoFile) {
  for (const char* file : {"metrics.jsonl", "attention.jsonl", "events.out.tfevents.000000000000", "lock"}) {
    for (const Alteration& alteration : spoil(file)) {
      for (const char* name : {"a FIFO", "a socket", "a directory", "a loop of links", "a link to /dev/zero",
                               "a link that leads nowhere"}) {
        if (alteration.name == name) expect_refused_run(alteration, "", false);
      }
    }
  }
}

TEST_F(TrainHostileRun, CutsMetricsThatAreLongerThanTheCheckpointSays) {
  for (const Alteration& alteration : spoil("metrics.jsonl")) {
    if (alteration.name != "8 TB long") continue;
    alter(alteration, "", false);
    const ProcessResult result = resume();
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_LT(fs::file_size(path("run/metrics.jsonl")), 100'000);
  }
}

}  // namespace
}  // namespace edgewise
