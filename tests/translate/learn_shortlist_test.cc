// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/learn_shortlist.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "edgewise/translate/model_files.h"
#include "edgewise/translate/translator.h"
#include "tests/base/support.h"
#include "tests/support/error_of.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

const std::filesystem::path kModelPath = EDGEWISE_TRAINED_MODEL;

const std::vector<std::string> kSentences = {"A man is riding a bicycle.", "Two dogs play in the snow.",
                                             "A woman in a red dress is singing.", "Children are playing football.",
                                             "The boy jumps into the water."};

std::string lines_of(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts) lines += text + "\n";
  return lines;
}

class LearnShortlist : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::remove(folder_ / name);
    write_file_atomically(folder_ / name, text, "test");
    return (folder_ / name).string();
  }

  std::filesystem::path destination() const { return folder_ / "model"; }

  /// Learns from the sentences and what the model makes of them.
  ShortlistTable learn(const LearnShortlistOptions& options) const {
    const AlignedFiles files = {write("in", lines_of(kSentences)), write("out", lines_of(translations(kModelPath))),
                                ""};
    return learn_shortlist(kModelPath, files, destination(), options, Overwrite::kYes);
  }

  static std::vector<std::string> translations(const std::filesystem::path& model,
                                               const TranslatorOptions& options = {}) {
    Translator translator(model, options);
    std::vector<std::string> texts;
    for (const std::string& text : kSentences) texts.push_back(translator.translate(text).outputs.at(0).text);
    return texts;
  }

  TemporaryFolder folder_;
};

TEST_F(LearnShortlist, KeepsTranslationsWhoseTokensItSelects) {
  const std::vector<std::string> exact = translations(kModelPath, {.beam = 1});
  const AlignedFiles files = {write("in", lines_of(kSentences)), write("out", lines_of(exact)), ""};
  learn_shortlist(kModelPath, files, destination(), {.first = 8, .best = 10'000, .threshold = 0, .sentences = 0});
  const ModelFiles model = read_model_files(destination(), "test");
  ASSERT_NE(model.shortlist, nullptr);
  const Vocabularies& vocabularies = model.codec.vocabularies;
  const Tokens input = vocabularies.input->encode(kSentences[0]);
  EXPECT_LT(std::ssize(model.shortlist->select(input)), vocabularies.output->size() / 10);
  for (const auto& [precision, name] : enum_names(RuntimePrecision{})) {
    SCOPED_TRACE(name);
    EXPECT_EQ(translations(destination(), {.precision = precision, .beam = 1}),
              translations(destination(), {.precision = precision, .shortlist = ShortlistUse::kOff, .beam = 1}));
  }
  EXPECT_EQ(translations(destination(), {.shortlist = ShortlistUse::kOff, .beam = 1}), exact);
}

TEST_F(LearnShortlist, SelectsNoOtherTokensThanItsLists) {
  const ShortlistTable table = learn({.first = 0, .best = 1});
  EXPECT_EQ(table.first, 0U);
  for (std::size_t i = 1; i < table.offsets.size(); ++i) ASSERT_EQ(table.offsets[i], table.offsets[i - 1] + 1);
  EXPECT_NE(translations(destination()), translations(kModelPath));
}

TEST_F(LearnShortlist, CountsTheLinksOfAnAlignmentFile) {
  const ModelFiles model = read_model_files(kModelPath, "test");
  const Tokens input = model.codec.vocabularies.input->encode("snow");
  const Tokens output = model.codec.vocabularies.output->encode("Schnee");
  const AlignedFiles files = {write("in", "snow\n"), write("out", "Schnee\n"), write("links", "-1.5\tSchnee\t0-0\n")};
  const ShortlistTable table = learn_shortlist(kModelPath, files, destination(), {.first = 0});
  const auto begin = table.tokens.begin() + static_cast<std::ptrdiff_t>(table.offsets.at(input.at(0)));
  const auto end = table.tokens.begin() + static_cast<std::ptrdiff_t>(table.offsets.at(input.at(0) + 1));
  EXPECT_NE(std::find(begin, end, static_cast<std::uint32_t>(output.at(0))), end);
}

// Only the links of pairs that are learned from are parsed.
TEST_F(LearnShortlist, LearnsFromPairsThatAreEvenlySpreadOverTheFiles) {
  constexpr int kPairs = 41;
  std::string inputs, outputs;
  for (int i = 0; i < kPairs; ++i) {
    inputs += "snow\n";
    outputs += "Schnee\n";
  }
  const auto learned = [&](std::int64_t sentences) {
    std::vector<int> numbers;
    for (int number = 0; number < kPairs; ++number) {
      std::string links;
      for (int i = 0; i < kPairs; ++i) links += i == number ? "0-99\n" : "0-0\n";
      const AlignedFiles files = {write("in", inputs), write("out", outputs), write("links", links)};
      const std::string error = error_of(
          [&] { learn_shortlist(kModelPath, files, destination(), {.sentences = sentences}, Overwrite::kYes); });
      if (error.find(":" + std::to_string(number + 1) + " has the link 0-99") != std::string::npos) {
        numbers.push_back(number);
      }
    }
    return numbers;
  };
  EXPECT_EQ(learned(1), std::vector<int>{0});
  EXPECT_EQ(learned(5), (std::vector<int>{0, 8, 16, 24, 32}));
  EXPECT_EQ(std::ssize(learned(30)), 30);
  EXPECT_EQ(std::ssize(learned(100)), kPairs);
}

TEST_F(LearnShortlist, RefusesFilesThatDoNotFitAndWritesNothing) {
  const std::string in = write("in", "snow\n");
  const std::string out = write("out", "Schnee\n");
  const auto error = [&](const AlignedFiles& files, const LearnShortlistOptions& options = {}) {
    const std::string found = error_of([&] { learn_shortlist(kModelPath, files, destination(), options); });
    EXPECT_FALSE(std::filesystem::exists(destination()));
    return found;
  };
  const std::string longer = write("longer", "Schnee\nEis\n");
  EXPECT_EQ(error({in, longer, ""}),
            "shortlist: " + in + ", " + longer + " have different numbers of lines, needs equal ones");
  const std::string links = write("links", "0-99\n");
  const std::string found = error({in, out, links});
  EXPECT_TRUE(found.starts_with("shortlist: " + links + ":1 has the link 0-99, but the pair has ")) << found;
  EXPECT_TRUE(error({in, out, write("links", "0+0\n")}).starts_with("shortlist: " + links + ":1 has \"0+0\", needs"));
  EXPECT_NE(error({in, out, write("links", "")}), "no error");
  EXPECT_NE(error({in, out, ""}, {.best = 0}), "no error");
}

}  // namespace
}  // namespace edgewise
