// SPDX-License-Identifier: Apache-2.0
// `edgewise export` to each format: models as they are, damaged, and with disks and signals that end it early.
#include <gmock/gmock.h>

#include <array>
#include <csignal>
#include <utility>

#include "tests/apps/foreign_models.h"
#include "tests/apps/forked_program.h"
#include "tests/apps/signals.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFormats = {"ctranslate2", "huggingface", "marian"};

/// Has a MarianMT model as the model directory "model", and the sentences of a pair.
class ExportTest : public SignalsTest {
 protected:
  ExportTest() {
    import_for("huggingface");
    write("in", "eu.\nœur a acheté\n");
    write("out", "sœur\nu duru\n");
  }

  /// Imports a model that the format can have.
  void import_for(std::string_view format) const {
    const fs::path models = EDGEWISE_SOURCE "/tests/convert/models";
    import_from(models / (format == "marian" ? "marian_npz" : "marian_2"));
  }

  void import_from(const fs::path& source) const { write_model(import_model(source, "test"), path("model"), "test"); }

  /// Returns the log-probabilities of outputs.
  std::string score(const std::string& model) const { return run_well({"score-pairs", "--model", model, "in", "out"}); }
};

TEST_F(ExportTest, EachFormatIsImportedAgainAndGivesTheSameProbabilities) {
  for (const char* format : kFormats) {
    SCOPED_TRACE(format);
    import_for(format);
    const std::string expected = score("model");
    EXPECT_EQ(run_well({"export", "model", "--format", format, "--out", "exported", "--overwrite"}),
              std::string("exported: a model for ") + format + "\n");
    run_well({"import", "exported", "--out", "imported", "--overwrite"});
    EXPECT_EQ(score("imported"), expected);
  }
}

TEST_F(ExportTest, AWarningListsWhatTheFilesLeaveOut) {
  const std::string begin = "edgewise export: warning: the files leave out ";
  const std::vector<std::pair<std::string, std::string>> warnings = {
      {"huggingface", ""},
      {"marian", ""},
      {"ctranslate2", begin + "data.max_length=118, search.rules=\"huggingface\", search.beam=6, search.max_length=12, "
                              "search.min_length=0, tokens that outputs may not contain: \"<pad>\"\n"},
  };
  for (const auto& [format, warning] : warnings) {
    import_for(format);
    const ProcessResult result = run({"export", "model", "--format", format, "--out", "exported", "--overwrite"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.output, "exported: a model for " + format + "\n");
    EXPECT_EQ(result.errors, warning);
  }
}

TEST_F(ExportTest, ADamagedFileIsRefusedByItsNameAndNothingIsWritten) {
  const fs::path pristine = path("pristine");
  fs::copy(path("model"), pristine);
  for (const std::string& file : names_in(pristine)) {
    for (const Alteration& alteration : spoil(file)) {
      SCOPED_TRACE(file + ": " + alteration.name);
      fs::remove_all(path("model"));
      fs::copy(pristine, path("model"));
      alteration.apply(path("model"));
      const ProcessResult result = run_edgewise_briefly(
          {"export", "model", "--format", "huggingface", "--out", "exported"}, {.folder = path("").string()});
      expect_refusal(result, alteration);
      EXPECT_EQ(result.output, "");
      EXPECT_FALSE(fs::exists(path("exported")));
    }
  }
}

TEST_F(ExportTest, ADestinationWithOtherFilesStays) {
  fs::create_directory(path("notes"));
  write("notes/mine", "text");
  write("file", "text");
  for (const std::string name : {"notes", "file"}) {
    expect_refused({"export", "model", "--format", "huggingface", "--out", name},
                   "edgewise export: " + name + kNoManifest);
  }
  EXPECT_EQ(read("notes/mine"), "text");
  EXPECT_EQ(read("file"), "text");
}

TEST_F(ExportTest, AFullDiskLeavesNothing) {
  const std::set<std::string> before = names_in(path(""));
  for (const char* format : kFormats) {
    import_for(format);
    const ProcessResult result =
        start_shell(R"(ulimit -f 1; exec "$0" "$@")", {"export", "model", "--format", format, "--out", "exported"})
            .wait();
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors,
                testing::MatchesRegex("edgewise export: exported/.*: File too large; nothing was replaced\n"));
    EXPECT_EQ(names_in(path("")), before);
  }
}

TEST_F(ExportTest, ASignalLeavesNothing) {
  fs::copy(EDGEWISE_SOURCE "/tests/convert/models/marian_2", path("wide"));
  widen(path("wide"));
  import_from(path("wide"));
  const std::set<std::string> before = names_in(path(""));
  const ProcessResult result =
      signal_in_time({"export", "model", "--format", "huggingface", "--out", "exported"}, SIGTERM, "exported",
                     [&] { return names_in(path("")).size() > before.size(); });
  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
  EXPECT_EQ(names_in(path("")), before);
}

}  // namespace
}  // namespace edgewise
