// SPDX-License-Identifier: Apache-2.0
// The options that exported files leave out, by the values that change a translation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/imported_model.h"
#include "tests/base/support.h"
#include "tests/convert/learned_model.h"
#include "tests/convert/model_folders.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

using enum ExportFormat;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

ModelFiles write_and_read(const fs::path& directory) {
  write_model(LearnedModel().model(), directory, "test");
  return read_model_files(directory, "test");
}

class LeftOutOptionsTest : public testing::Test {
 protected:
  /// Lists what files of a learned model leave out whose search has other options.
  std::vector<std::string> list(ExportFormat format, const SearchOptions& search) {
    model_.experiment.search = search;
    return left_out_options(model_, format);
  }

  /// Options of Edgewise's search that all formats have.
  static SearchOptions common_search() {
    SearchOptions search;
    search.length_norm = LengthNorm::kAverage;
    search.length_factor = 0;
    search.length_offset = 256;
    search.min_length = 1;
    search.stop_loops = false;
    return search;
  }

 private:
  const TemporaryFolder folder_;
  ModelFiles model_ = write_and_read(folder_ / "model");
};

TEST_F(LeftOutOptionsTest, OfHuggingFaceAreThoseThatGenerateLacks) {
  EXPECT_THAT(list(kHuggingFace, common_search()), IsEmpty());
  SearchOptions search = common_search();
  search.beam = 4;
  search.n_best = 2;
  search.length_norm = LengthNorm::kGnmt;
  search.coverage_penalty = 0.2;
  search.length_factor = 1.5;
  search.min_length_factor = 0.5;
  search.no_repeat_ngram = 3;
  EXPECT_THAT(list(kHuggingFace, search),
              ElementsAre(R"(search.rules="edgewise")", R"(search.length_norm="gnmt")", "search.coverage_penalty=0.2",
                          "search.length_factor=1.5", "search.min_length_factor=0.5"));
}

TEST_F(LeftOutOptionsTest, OfAllFormatsAreLoopsThatAreSearchedAgain) {
  SearchOptions search = common_search();
  search.stop_loops = true;
  EXPECT_THAT(list(kHuggingFace, search), ElementsAre("search.stop_loops=true"));
  EXPECT_THAT(list(kMarian, search), testing::Contains("search.stop_loops=true"));
  EXPECT_THAT(list(kCtranslate2, search), testing::Contains("search.stop_loops=true"));
  search.rules = BeamRules::kHuggingFace;
  search.max_length = 20;
  EXPECT_THAT(list(kMarian, search), testing::Not(testing::Contains("search.stop_loops=true")));
}

TEST_F(LeftOutOptionsTest, OfHuggingFaceAreThoseOfSampling) {
  SearchOptions search = common_search();
  search.kind = SearchKind::kSampling;
  search.temperature = 0.5;
  search.top_k = 10;
  search.top_p = 0.9;
  search.min_p = 0.1;
  search.seed = 7;
  EXPECT_THAT(list(kHuggingFace, search),
              ElementsAre(R"(search.kind="sampling")", R"(search.rules="edgewise")", "search.temperature=0.5",
                          "search.top_k=10", "search.top_p=0.9", "search.min_p=0.1", "search.seed=7"));
}

TEST_F(LeftOutOptionsTest, AreNoneForALengthNormWithoutEffect) {
  SearchOptions search = common_search();
  search.length_norm = LengthNorm::kGnmt;
  search.length_penalty = 0;
  EXPECT_THAT(list(kHuggingFace, search), IsEmpty());
}

TEST_F(LeftOutOptionsTest, OfHuggingFaceHaveThePenaltyForRepetitionsInGreedySearch) {
  SearchOptions search = common_search();
  search.repetition_penalty = 1.2;
  EXPECT_THAT(list(kHuggingFace, search), ElementsAre("search.repetition_penalty=1.2"));
  search.beam = 2;
  EXPECT_THAT(list(kHuggingFace, search), ElementsAre(R"(search.rules="edgewise")"));
}

TEST_F(LeftOutOptionsTest, OfMarianAreAllButTheBeamTheLengthPenaltyAndTheLengthFactor) {
  SearchOptions search;
  search.beam = 6;
  search.length_norm = LengthNorm::kPower;
  search.length_penalty = 0.7;
  search.length_factor = 2;
  search.length_offset = 0;
  search.force_end = false;
  search.stop_loops = false;
  EXPECT_THAT(list(kMarian, search), IsEmpty());
  search.n_best = 2;
  search.coverage_penalty = 0.2;
  search.min_length = 3;
  search.min_length_factor = 0.5;
  search.no_repeat_ngram = 2;
  search.repetition_penalty = 1.5;
  EXPECT_THAT(list(kMarian, search), UnorderedElementsAre("search.n_best=2", "search.coverage_penalty=0.2",
                                                          "search.min_length=3", "search.min_length_factor=0.5",
                                                          "search.no_repeat_ngram=2", "search.repetition_penalty=1.5"));
}

TEST_F(LeftOutOptionsTest, OfMarianAreTheLengthsThatItDoesNotHave) {
  SearchOptions search;
  search.length_norm = LengthNorm::kGnmt;
  search.length_factor = 2;
  search.length_offset = 10;
  search.max_length = 100;
  EXPECT_THAT(list(kMarian, search), UnorderedElementsAre(R"(search.length_norm="gnmt")", "search.length_factor=2.0",
                                                          "search.length_offset=10", "search.max_length=100",
                                                          "search.stop_loops=true", "search.force_end=true"));
}

TEST_F(LeftOutOptionsTest, OfMarianAreTheRulesOfHuggingFace) {
  SearchOptions search;
  search.rules = BeamRules::kHuggingFace;
  search.beam = 6;
  search.max_length = 512;
  EXPECT_THAT(list(kMarian, search), UnorderedElementsAre(R"(search.rules="huggingface")", "search.max_length=512"));
}

TEST_F(LeftOutOptionsTest, OfCtranslate2AreTheSearchAndTheTokensThatOutputsMayNotContain) {
  const std::string tokens = "tokens that outputs may not contain: \"<pad>\", \"<unknown>\", \"<begin>\"";
  SearchOptions search = common_search();
  EXPECT_THAT(list(kCtranslate2, search), ElementsAre("data.max_length=32", "search.beam=1", tokens));
  search.beam = 4;
  search.n_best = 3;
  search.length_norm = LengthNorm::kNone;
  search.length_offset = 100;
  search.max_length = 50;
  search.min_length = 0;
  EXPECT_THAT(list(kCtranslate2, search),
              ElementsAre("data.max_length=32", R"(search.rules="edgewise")", "search.beam=4", "search.n_best=3",
                          R"(search.length_norm="none")", "search.length_offset=100", "search.max_length=50",
                          "search.min_length=0", tokens));
}

/// Imports a model of models/make_models, and lists what files of a format leave out.
std::vector<std::string> list_imported(std::string_view name, ExportFormat format, std::string_view output_language) {
  const TemporaryFolder folder;
  ImportedModel model = import_model(folder_of_committed_models() / name, "test");
  model.experiment.data.output_language = output_language;
  write_model(model, folder / "model", "test");
  return left_out_options(read_model_files(folder / "model", "test"), format);
}

TEST(LeftOutOptions, AreNoneForAModelOfTheSameSystem) {
  EXPECT_THAT(list_imported("marian_2", kHuggingFace, ""), IsEmpty());
  EXPECT_THAT(list_imported("m2m100_1", kHuggingFace, "ja"), IsEmpty());
}

TEST(LeftOutOptions, NameTheLanguagesThatTheFilesLack) {
  EXPECT_THAT(list_imported("m2m100_1", kCtranslate2, "ja"),
              testing::IsSupersetOf({R"(data.input_language="en")", R"(data.output_language="ja")"}));
}

}  // namespace
}  // namespace edgewise
