// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/shortlist.h"

#include <gtest/gtest.h>

#include <set>

#include "edgewise/base/random.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

constexpr const char* kNoError = "no error";

/// Three lists: {5}, {} and {3, 4, 6}.
const ShortlistTable kTable = {.first = 2, .best = 3, .offsets = {0, 1, 1, 4}, .tokens = {5, 3, 4, 6}};

template <typename Number>
void append(std::string& file, std::initializer_list<Number> numbers) {
  for (const Number number : numbers) file.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

/// The file of kTable. Its checksum is computed elsewhere.
std::string small_file() {
  std::string file;
  append<std::uint64_t>(file, {0xF11A48D5013417F5, 0x8A48425674FE4A1A, 2, 3, 4, 4});
  append<std::uint64_t>(file, {0, 1, 1, 4});
  append<std::uint32_t>(file, {5, 3, 4, 6});
  return file;
}

void expect_equal(const ShortlistTable& found, const ShortlistTable& expected) {
  EXPECT_EQ(found.first, expected.first);
  EXPECT_EQ(found.best, expected.best);
  EXPECT_EQ(found.offsets, expected.offsets);
  EXPECT_EQ(found.tokens, expected.tokens);
}

TEST(Shortlist, HasTheFileFormatOfMarian) {
  EXPECT_EQ(serialize_shortlist(kTable), small_file());
  expect_equal(parse_shortlist(small_file(), "test"), kTable);
  const ShortlistTable empty;
  expect_equal(parse_shortlist(serialize_shortlist(empty), "test"), empty);
}

TEST(Shortlist, ThatIsCutOrAlteredIsRefused) {
  const std::string file = small_file();
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(error_of([&] { parse_shortlist(file.substr(0, size), "test"); }), kNoError) << size;
  }
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string altered = file;
    altered[i] = static_cast<char>(altered[i] ^ 0x10);
    EXPECT_NE(error_of([&] { parse_shortlist(altered, "test"); }), kNoError) << i;
  }
}

/// Returns the error for a file with another number at a place, counted in numbers of 64 bits.
std::string error_with(std::size_t place, std::uint64_t number) {
  std::string file = small_file();
  file.replace(place * 8, 8, reinterpret_cast<const char*>(&number), 8);
  return error_of([&] { parse_shortlist(file, "test: f"); });
}

TEST(Shortlist, WithImpossibleNumbersIsRefusedInOneSentence) {
  EXPECT_EQ(error_with(0, 7), "test: f begins with 0x7, needs 0xf11a48d5013417f5, because it is a shortlist");
  EXPECT_EQ(error_with(1, 7), "test: f has the checksum 0x8a48425674fe4a1a, needs 0x7; copy the file again");
  EXPECT_EQ(
      error_with(4, std::uint64_t{1} << 61),
      "test: f, byte 48: the file has 2305843009213693952 offsets, needs 8 bytes for each, and has 48 bytes left");
  EXPECT_EQ(error_with(4, 0), "test: f has 32 bytes after the tokens, needs none");
  EXPECT_EQ(error_with(5, std::uint64_t{1} << 62),
            "test: f, byte 80: the file has 4611686018427387904 tokens, needs 4 bytes for each, and has 16 bytes left");
  EXPECT_EQ(error_with(6, 1), "test: f has lists from token 1, needs 0");
  EXPECT_EQ(error_with(7, 2), "test: f has the offset 1 after 2, needs ascending offsets");
  EXPECT_EQ(error_with(9, 5), "test: f has lists of 5 tokens, needs 4, the tokens of the file");
  EXPECT_EQ(error_of([] { serialize_shortlist({.offsets = {}}); }),
            "serialize_shortlist: the table has no offsets, needs one more than lists");
}

TEST(Shortlist, ThatDoesNotFitTheVocabulariesIsRefused) {
  const auto error = [](std::int64_t inputs, std::int64_t outputs, bool is_shared = false) {
    return error_of([&] { Shortlist(kTable, {inputs, outputs, 0, is_shared}, "test: f"); });
  };
  EXPECT_EQ(error(3, 7), kNoError);
  EXPECT_EQ(error(4, 7), kNoError);
  EXPECT_EQ(error(2, 7), "test: f has 3 lists, needs 1 or 2, the size of the input vocabulary");
  EXPECT_EQ(error(5, 7), "test: f has 3 lists, needs 4 or 5, the size of the input vocabulary");
  EXPECT_EQ(error(3, 6), "test: f has token 6, but the output vocabulary has 6 tokens, counted from 0");
  EXPECT_EQ(error(4, 7, true), "test: f: a shared vocabulary has 4 input tokens, needs the 7 output tokens");
}

TEST(Shortlist, SelectsTheFirstTokensThoseOfTheInputAndTheEnd) {
  const ShortlistTable table = {.first = 2, .offsets = {0, 1, 1, 4}, .tokens = {50, 33, 34, 36}};
  const Shortlist shortlist(table, {.input_size = 4, .output_size = 60, .end_token = 40}, "test");
  EXPECT_EQ(shortlist.select({2, 0, 2}), (std::vector<std::int32_t>{0, 1, 2, 33, 34, 36, 40, 50}));
  EXPECT_EQ(shortlist.select({3, 1, -1, 99}), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 40}));
}

TEST(Shortlist, SelectsTheTokensOfTheInputIfTheVocabularyIsShared) {
  const ShortlistTable table = {.first = 1, .offsets = std::vector<std::uint64_t>(61)};
  const Shortlist shortlist(table, {.input_size = 60, .output_size = 60, .end_token = 0, .is_shared = true}, "test");
  EXPECT_EQ(shortlist.select({7, 59, 7}), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 7, 59}));
}

/// Selects as Marian does: marks tokens of the vocabulary, and then marks more until their number is a multiple of 8.
std::vector<std::int32_t> marked_tokens(const ShortlistTable& table, const ShortlistVocabularies& vocabularies,
                                        const Tokens& input) {
  std::set<std::int32_t> marked = {static_cast<std::int32_t>(vocabularies.end_token)};
  const auto size = static_cast<std::int32_t>(vocabularies.output_size);
  for (std::int32_t token = 0; token < size && token < static_cast<std::int64_t>(table.first); ++token) {
    marked.insert(token);
  }
  for (const std::int64_t token : input) {
    if (vocabularies.is_shared) marked.insert(static_cast<std::int32_t>(token));
    for (std::uint64_t i = table.offsets[token]; i < table.offsets[token + 1]; ++i) {
      marked.insert(static_cast<std::int32_t>(table.tokens[i]));
    }
  }
  for (auto token = static_cast<std::int32_t>(table.first); token < size && marked.size() % 8 != 0; ++token) {
    marked.insert(token);
  }
  return {marked.begin(), marked.end()};
}

TEST(Shortlist, SelectsWhatItsDefinitionMarks) {
  RandomStream random(/*seed=*/3);
  for (int i = 0; i < 200; ++i) {
    const auto size = static_cast<std::int64_t>(1 + random.next_below(90));
    ShortlistVocabularies vocabularies = {.input_size = size, .output_size = size, .is_shared = i % 2 == 0};
    vocabularies.end_token = static_cast<std::int64_t>(random.next_below(size));
    ShortlistTable table = {.first = random.next_below(size + 20)};
    for (std::int64_t list = 0; list < size; ++list) {
      for (std::uint64_t n = random.next_below(9); n > 0; --n) {
        table.tokens.push_back(static_cast<std::uint32_t>(random.next_below(size)));
      }
      table.offsets.push_back(table.tokens.size());
    }
    Tokens input(random.next_below(12));
    for (std::int64_t& token : input) token = static_cast<std::int64_t>(random.next_below(size));
    EXPECT_EQ(Shortlist(table, vocabularies, "test").select(input), marked_tokens(table, vocabularies, input)) << i;
  }
}

}  // namespace
}  // namespace edgewise
