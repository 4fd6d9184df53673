// SPDX-License-Identifier: Apache-2.0
// `edgewise import` with models of each family: as they are, damaged, and with disks and signals that end it early.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

#include "tests/apps/foreign_models.h"
#include "tests/apps/forked_program.h"
#include "tests/apps/signals.h"
#include "tests/support/error_of.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

class ImportTest : public SignalsTest {
 protected:
  const std::vector<ForeignModel> models_ = list_foreign_models();

  /// Copies a model to the directory "model".
  void place(const ForeignModel& model) const {
    fs::remove_all(path("model"));
    copy_model(model, path("model"));
  }
};

TEST_F(ImportTest, EachFamilyIsImportedInspectedAndRun) {
  const std::vector<std::string> outputs = {
      "imported: a MarianMT model of Hugging Face's transformers, ",
      "imported: a M2M-100 model of Hugging Face's transformers, ",
      "imported: a Marian model, ",
      "imported: a CTranslate2 model, ",
      "imported: a CTranslate2 model, ",
      "imported: a GPT-2 model of Hugging Face's transformers, 2 layers ",
      "imported: a Qwen 2 model of Hugging Face's transformers, 2 layers ",
  };
  for (std::size_t i = 0; i < models_.size(); ++i) {
    SCOPED_TRACE(models_[i].family);
    place(models_[i]);
    EXPECT_THAT(run_well({"import", "model", "--out", "imported", "--overwrite"}), testing::StartsWith(outputs[i]));
    EXPECT_THAT(run_well({"inspect", "imported"}), testing::HasSubstr("parameters"));
    if (!models_[i].translates) {
      write("text", "A text.\n");
      EXPECT_THAT(run_well({"perplexity", "--model", "imported", "text"}), testing::StartsWith("loss "));
      continue;
    }
    const ProcessResult translated = run_process({EDGEWISE_TRANSLATE, "--model", "imported"},
                                                 {.input = "eu.\n\na b\n", .folder = path("").string()});
    EXPECT_EQ(translated.exit_code, 0) << translated.errors;
    EXPECT_EQ(std::ranges::count(translated.output, '\n'), 3);
  }
}

/// Returns whether an altered file may be a valid one.
bool may_be_valid(const ForeignModel& model, const Alteration& alteration) {
  const auto& optional = model.optional_files;
  const bool is_optional = std::ranges::find(optional, alteration.file) != optional.end();
  // A decoder.yml may end after any option after the names of the files.
  const bool is_cut = alteration.name == "cut in the middle" && alteration.file == "decoder.yml";
  return alteration.name == kFlippedBit || (alteration.name == "missing" && is_optional) || is_cut;
}

TEST_F(ImportTest, ADamagedFileIsRefusedByItsNameAndNothingIsWritten) {
  for (const ForeignModel& model : models_) {
    for (const std::string& file : model.files) {
      for (Alteration alteration : spoil(file)) {
        SCOPED_TRACE(model.family + ", " + file + ": " + alteration.name);
        place(model);
        alteration.apply(path("model"));
        const ProcessResult result =
            run_edgewise_briefly({"import", "model", "--out", "imported"}, {.folder = path("").string()});
        if (result.exit_code == 0) {
          const bool is_whole = alteration.name == "a link out of the directory";
          EXPECT_TRUE(is_whole || may_be_valid(model, alteration));
          fs::remove_all(path("imported"));
          continue;
        }
        if (alteration.name == kFlippedBit) alteration.file = "model";
        expect_refusal(result, alteration);
        EXPECT_EQ(result.output, "");
        EXPECT_FALSE(fs::exists(path("imported")));
      }
    }
  }
  EXPECT_THAT(names_in(path("")), testing::IsSubsetOf({"model", "moved", "tiny.toml"}));
}

TEST_F(ImportTest, AnyFlippedBitGivesAModelOrOneSentence) {
  for (const ForeignModel& model : models_) {
    for (const std::string& file : model.files) {
      const std::string bytes = read_bytes(model.directory / file);
      for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t place_of_byte = i * 7919 % std::min<std::size_t>(bytes.size(), i == 0 ? 512 : bytes.size());
        SCOPED_TRACE(model.family + ", " + file + ", byte " + std::to_string(place_of_byte));
        place(model);
        std::string altered = bytes;
        altered[place_of_byte] = static_cast<char>(altered[place_of_byte] ^ (1 << (i + 2)));
        write_bytes(path("model") / file, altered);
        const ProcessResult result =
            run_edgewise_briefly({"import", "model", "--out", "imported"}, {.folder = path("").string()});
        if (result.exit_code == 0) {
          EXPECT_EQ(error_of([&] { read_model_files(path("imported"), "test"); }), "no error");
          fs::remove_all(path("imported"));
        } else {
          expect_refusal(result, {.name = "", .file = "model", .apply = {}});
        }
      }
    }
  }
}

TEST_F(ImportTest, ADestinationWithOtherFilesStays) {
  place(models_[0]);
  fs::create_directory(path("notes"));
  write("notes/mine", "text");
  write("file", "text");
  expect_refused({"import", "model", "--out", "notes"}, "edgewise import: notes" + kNoManifest);
  EXPECT_EQ(read("notes/mine"), "text");
  expect_refused({"import", "model", "--out", "file"}, "edgewise import: file" + kNoManifest);
  EXPECT_EQ(read("file"), "text");
}

TEST_F(ImportTest, AnEarlierModelStaysUntilTheNewOneIsComplete) {
  place(models_[0]);
  run_well({"import", "model", "--out", "imported"});
  const std::string earlier = read("imported/config.toml");
  write_bytes(path("model/vocab.json"), "{}");
  const Words again = {"import", "model", "--out", "imported", "--overwrite"};
  EXPECT_EQ(run_edgewise_briefly(again, {.folder = path("").string()}).exit_code, 2);
  EXPECT_EQ(read("imported/config.toml"), earlier);
  place(models_[1]);
  run_well(again);
  EXPECT_NE(read("imported/config.toml"), earlier);
}

TEST_F(ImportTest, AFullDiskLeavesNothing) {
  place(models_[0]);
  const std::set<std::string> before = names_in(path(""));
  const ProcessResult result =
      start_shell(R"(ulimit -f 1; exec "$0" "$@")", {"import", "model", "--out", "imported"}).wait();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "edgewise import: imported/input_pieces.model: File too large; nothing was replaced\n");
  EXPECT_EQ(names_in(path("")), before);
}

TEST_F(ImportTest, ASignalLeavesNothing) {
  place(models_[0]);
  widen(path("model"));
  const std::set<std::string> before = names_in(path(""));
  for (const int signal : {SIGTERM, SIGINT}) {
    const ProcessResult result = signal_in_time({"import", "model", "--out", "imported"}, signal, "imported",
                                                [&] { return names_in(path("")).size() > before.size(); });
    EXPECT_EQ(result.exit_code, 128 + signal);
    EXPECT_EQ(names_in(path("")), before);
  }
}

}  // namespace
}  // namespace edgewise
