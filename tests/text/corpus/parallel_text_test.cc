// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/parallel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/text/compression.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using Files = std::vector<std::string>;

class ReadPairsTest : public testing::Test {
 protected:
  /// Returns the text without the name of the directory.
  std::string shown(std::string text) {
    const std::string prefix = directory.path().string() + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
    return text;
  }

  Files two(std::string_view input, std::string_view output) {
    return {directory.write("a.en", input), directory.write("b.fr", output)};
  }

  Files tsv(std::string_view text) { return {directory.write("c.tsv", text)}; }

  std::string error_of_pairs(const Files& files, const PairOptions& options = {}) {
    return shown(error_of([&] { read_pairs(files, options); }));
  }

  TemporaryDirectory directory;
};

TEST_F(ReadPairsTest, ReadsTwoFilesOrOneTsv) {
  for (const Files& files : {two("Go.\nHi.\n", "Va !\nSalut."), tsv("Go.\tVa !\nHi.\tSalut.\n"),
                             two(compress_gzip("Go.\nHi."), compress_zstd("Va !\r\nSalut.\r\n")),
                             tsv(compress_xz("Go.\tVa !\nHi.\tSalut."))}) {
    const SentencePairs pairs = read_pairs(files);

    EXPECT_THAT(pairs.inputs, ElementsAre("Go.", "Hi."));
    EXPECT_THAT(pairs.outputs, ElementsAre("Va !", "Salut."));
    EXPECT_EQ(pairs.report.kept, 2);
    EXPECT_EQ(pairs.report.num_skipped(), 0);
  }
}

TEST_F(ReadPairsTest, ReadsTheLinksOfTheUsablePairs) {
  const auto with_links = [&](Files files, std::string_view links) {
    files.push_back(directory.write("links", links));
    return files;
  };
  const PairOptions options = {.has_links = true};
  using Links = std::vector<WordLink>;
  for (const Files& files : {two("a  b\n\nc\nd\n", "A\nB\nC D\nE\n"), tsv("a  b\tA\n\tB\nc\tC D\nd\tE\n")}) {
    const SentencePairs pairs = read_pairs(with_links(files, "1-0 0-0 1-0\n9-9\n0p1\n\n"), options);

    EXPECT_THAT(pairs.inputs, ElementsAre("a  b", "c", "d"));
    EXPECT_THAT(pairs.links, ElementsAre(Links{{0, 0}, {1, 0}}, Links{{0, 1}}, Links{}));
  }
  const Files pair = two("a b\nc\n", "A\nC\n");
  EXPECT_EQ(error_of_pairs(with_links(pair, "0-0\n1-0\n"), options),
            "read_pairs: links:2 has 1-0, needs links of the pair's 1 and 1 words, counted from 0");
  EXPECT_EQ(error_of_pairs(with_links(pair, "0-1\n0-0\n"), options),
            "read_pairs: links:1 has 0-1, needs links of the pair's 2 and 1 words, counted from 0");
  EXPECT_EQ(error_of_pairs(with_links(pair, "0-0\n"), options),
            "read_pairs: a.en has 2 lines and links has 1; a file of links needs one line for each pair");
  EXPECT_EQ(error_of_pairs(with_links(pair, "0-0\n0-0\n0-0\n0-0"), options),
            "read_pairs: a.en has 2 lines and links has 4; a file of links needs one line for each pair");
  EXPECT_THAT(error_of_pairs(with_links(pair, "0:0\n\n"), options),
              testing::StartsWith("read_pairs: links:1 has \"0:0\", needs links as 0-0 (sure)"));
}

TEST_F(ReadPairsTest, SkipsAndCountsBadPairsInTraining) {
  const Files files =
      two("good\n\nb\xFF"
          "d\nnul\0\ntoo long for it\n ok \n"s,
          "bon\nvide\nmal\nnul\nlong\n\u00a0\n"s);

  const SentencePairs pairs = read_pairs(files, {.max_line_bytes = 10});

  EXPECT_THAT(pairs.inputs, ElementsAre("good"));
  EXPECT_EQ(pairs.report.kept, 1);
  EXPECT_EQ(pairs.report.empty, 2);
  EXPECT_EQ(pairs.report.bad_utf8, 1);
  EXPECT_EQ(pairs.report.nul_bytes, 1);
  EXPECT_EQ(pairs.report.too_long, 1);
  EXPECT_EQ(pairs.report.describe_skipped(),
            "2 pairs with an empty side, 1 with bad UTF-8, 1 with a NUL byte, 1 with a line that is too long");
  std::vector<std::string> places;
  for (const std::string& place : pairs.report.first_skipped) places.push_back(shown(place));
  EXPECT_THAT(places,
              ElementsAre("a.en:2 is empty", "a.en:3 has bytes that are not UTF-8, the first after 1 bytes",
                          "a.en:4 has a NUL byte after 3 bytes", "a.en:5 has more than 10 bytes", "b.fr:6 is empty"));
}

TEST_F(ReadPairsTest, ListsTheFirstFiveSkippedPairs) {
  const SentencePairs pairs = read_pairs(tsv("a\tb\n\n\n\n\n\n\n\n"));

  EXPECT_EQ(pairs.report.empty, 7);
  EXPECT_EQ(pairs.report.first_skipped.size(), 5u);
}

TEST_F(ReadPairsTest, RejectsBadPairsInEvaluation) {
  const PairOptions strict = {.bad_pairs = BadPairs::kError, .max_line_bytes = 10};

  EXPECT_EQ(error_of_pairs(two("a\n\n", "b\nc\n"), strict),
            "read_pairs: a.en:2 is empty, needs a sentence; only training leaves such pairs out");
  EXPECT_EQ(error_of_pairs(two("a\nb", "c\n\xC0\x80"), strict),
            "read_pairs: b.fr:2 has bytes that are not UTF-8, the first after 0 bytes, needs a sentence; only training "
            "leaves such pairs out");
  EXPECT_EQ(error_of_pairs(tsv("a\tb\nlonger than ten\tc\n"), strict),
            "read_pairs: c.tsv:2 has more than 10 bytes, needs a sentence; only training leaves such pairs out");
}

TEST_F(ReadPairsTest, NeedsEqualNumbersOfLines) {
  EXPECT_EQ(error_of_pairs(two("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "1\n2\n3\n4\n5\n6\n7\n8\n9")),
            "read_pairs: a.en has 10 lines and b.fr has 9; the two files of a pair need one line each per pair");
  EXPECT_EQ(error_of_pairs(two("", "1\n2")),
            "read_pairs: a.en has 0 lines and b.fr has 2; the two files of a pair need one line each per pair");
}

TEST_F(ReadPairsTest, NeedsTwoFieldsInATsv) {
  EXPECT_EQ(error_of_pairs(tsv("a\tb\nc\n")), "read_pairs: c.tsv:2 has 1 field, needs 2 (input TAB output)");
  EXPECT_EQ(error_of_pairs(tsv("a\tb\tc\n")), "read_pairs: c.tsv:1 has 3 fields, needs 2 (input TAB output)");
}

TEST_F(ReadPairsTest, NeedsAPair) {
  EXPECT_EQ(error_of_pairs(tsv("")), "read_pairs: c.tsv has no usable pair, needs at least one");
  EXPECT_EQ(
      error_of_pairs(two("\n\xFF\n", "a\nb\n")),
      "read_pairs: a.en with b.fr has no usable pair (1 pair with an empty side, 1 with bad UTF-8 left out), needs at "
      "least one");
}

TEST_F(ReadPairsTest, CountsRepairs) {
  const SentencePairs pairs = read_pairs(two("\uFEFFa\r\nb\r\n",
                                             "\uFEFF"
                                             "c\nd\r\n"));

  EXPECT_THAT(pairs.inputs, ElementsAre("a", "b"));
  EXPECT_EQ(pairs.report.carriage_returns, 3);
  EXPECT_EQ(pairs.report.byte_order_marks, 2);
  EXPECT_EQ(pairs.report.describe_repairs(), "3 lines ended with CR LF, 2 files began with a byte order mark");
}

TEST_F(ReadPairsTest, ReplacesOrRejectsBadUtf8) {
  const Files files = tsv("a\xFF\tb\nc\td\n");

  const SentencePairs pairs = read_pairs(files, {.bad_utf8 = BadUtf8::kReplace});

  EXPECT_THAT(pairs.inputs, ElementsAre("a\uFFFD", "c"));
  EXPECT_EQ(pairs.report.describe_repairs(), "1 sentence had bad UTF-8, now U+FFFD");
  EXPECT_EQ(error_of_pairs(files, {.bad_utf8 = BadUtf8::kError}),
            "read_pairs: c.tsv:1 has bytes that are not UTF-8, the first after 1 bytes, needs UTF-8, as data.bad_utf8 "
            "says");
}

TEST_F(ReadPairsTest, SkipsPairsWithEqualSidesIfRequested) {
  const Files files = tsv("a\ta\nb\tc\n");

  EXPECT_EQ(read_pairs(files).size(), 2U);
  const SentencePairs pairs = read_pairs(files, {.same_sides = SameSides::kSkip});

  EXPECT_THAT(pairs.inputs, ElementsAre("b"));
  EXPECT_EQ(pairs.report.describe_skipped(), "1 pair with the same text on both sides");
}

TEST_F(ReadPairsTest, WarnsOfAFileGivenTwice) {
  EXPECT_EQ(read_pairs(tsv("a\ta\nb\tb\nc\td\n")).report.describe_doubts(),
            "2 of 3 pairs have the same text on both sides; is it one file twice?");
  EXPECT_EQ(read_pairs(tsv("a\ta\nb\tc\n")).report.describe_doubts(), "");
}

TEST_F(ReadPairsTest, WarnsOfABinaryFile) {
  EXPECT_EQ(read_pairs(tsv("a\tb\n\0\tc\n"s)).report.describe_doubts(),
            "1 of 2 pairs have a NUL byte; is it a binary file?");
}

TEST_F(ReadPairsTest, EndsLinesAtLineFeedsOnly) {
  const SentencePairs pairs = read_pairs(two("a\u0085b\u2028c\u2029d\ve\ff\rg\n", "x\n"));

  EXPECT_THAT(pairs.inputs, ElementsAre("a\u0085b\u2028c\u2029d\ve\ff\rg"));
}

TEST_F(ReadPairsTest, ErrorsNameFilesThatCannotBeRead) {
  EXPECT_EQ(error_of_pairs({directory.path() / "no.tsv"}), "read_pairs: no.tsv: No such file or directory");
  EXPECT_EQ(error_of_pairs({}),
            "read_pairs: files has 0 names, needs one TSV file, or two files with a sentence a line");
  EXPECT_EQ(error_of_pairs({"a", "b", "c"}),
            "read_pairs: files has 3 names, needs one TSV file, or two files with a sentence a line");
}

}  // namespace
}  // namespace edgewise
