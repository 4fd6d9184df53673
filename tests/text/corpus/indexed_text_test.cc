// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/indexed_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/text/compression.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::SizeIs;
using testing::StartsWith;
using Files = std::vector<std::string>;

constexpr auto kBlock = TextBlocks::kBlockSize;

/// Returns the pairs of all blocks in order.
SentencePairs read_all(const TextBlocks& text) {
  SentencePairs all;
  for (std::int64_t block = 0; block < text.num_blocks(); ++block) {
    const SentencePairs pairs = text.read(block);
    EXPECT_THAT(pairs.inputs, SizeIs(static_cast<std::size_t>(text.num_pairs(block))));
    all.inputs.insert(all.inputs.end(), pairs.inputs.begin(), pairs.inputs.end());
    all.outputs.insert(all.outputs.end(), pairs.outputs.begin(), pairs.outputs.end());
  }
  return all;
}

/// Returns random lines, some of them unusable.
std::string lines_of(int count, std::string_view word) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += i % 7 == 3 ? "\n" : fmt::format("{} {}\n", word, i);
  return lines;
}

class IndexedTextTest : public testing::Test {
 protected:
  Files two(std::string_view input, std::string_view output) {
    return {directory.write("a.en", input), directory.write("b.fr", output)};
  }

  TemporaryDirectory directory;
};

TEST_F(IndexedTextTest, ReturnsTheLinksOfEachPair) {
  std::string links;
  std::string other_links;
  for (int i = 0; i < 3000; ++i) {
    links += i % 2 == 0 ? "0-1\n" : "1-0 1-1\n";
    other_links += i == 2500 ? "0-0\n" : i % 2 == 0 ? "0-1\n" : "1-0 1-1\n";
  }
  Files files = two(lines_of(3000, "in"), lines_of(3000, "out"));
  files.push_back(directory.write("links", links));
  const PairOptions options = {.has_links = true};
  const SentencePairs expected = read_pairs(files, options);
  const IndexedText text(files, options);

  std::vector<std::vector<WordLink>> found;
  for (std::int64_t block = 0; block < text.num_blocks(); ++block) {
    for (auto& of_pair : text.read(block).links) found.push_back(of_pair);
  }
  EXPECT_EQ(found, expected.links);
  EXPECT_EQ(TextInMemory(expected).read(1).links.size(), static_cast<std::size_t>(kBlock));
  EXPECT_EQ(TextInMemory(expected).read(0).links[0], expected.links[0]);
  files.back() = directory.write("other", other_links);
  EXPECT_NE(IndexedText(files, options).fingerprint(), text.fingerprint());
}

TEST_F(IndexedTextTest, ReturnsThePairsOfItsFilesInOrder) {
  for (const int count : {1, 1023, 1024, 1025, 5000}) {
    const Files files = two(lines_of(count, "in"), lines_of(count, "out"));
    const SentencePairs expected = read_pairs(files);

    const IndexedText text(files, {});

    EXPECT_EQ(text.num_blocks(), (count + kBlock - 1) / kBlock);
    EXPECT_EQ(text.report().kept, static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(text.report().empty, expected.report.empty);
    const SentencePairs all = read_all(text);
    EXPECT_EQ(all.inputs, expected.inputs);
    EXPECT_EQ(all.outputs, expected.outputs);
  }
}

TEST_F(IndexedTextTest, ReadsIrregularLinesAsASequentialReaderDoes) {
  EXPECT_TRUE(rc::check([this] {
    std::string input = *rc::gen::element<std::string>("", "\uFEFF");
    std::string output;
    const int count = *rc::gen::inRange(1, 2500);
    for (int i = 0; i < count; ++i) {
      input += *rc::gen::element<std::string>("a", "\uFEFF b", "\xFF", "", "long enough to be cut", "\r", "é") +
               *rc::gen::element<std::string>("\n", "\r\n");
      output += "x\n";
    }
    const Files files = two(input, output);
    const PairOptions options{.bad_utf8 = *rc::gen::element(BadUtf8::kSkip, BadUtf8::kReplace), .max_line_bytes = 12};
    SentencePairs expected;
    try {
      expected = read_pairs(files, options);
    } catch (const Error&) {
      RC_DISCARD("no usable pair");
    }

    RC_ASSERT(read_all(IndexedText(files, options)).inputs == expected.inputs);
  }));
}

TEST_F(IndexedTextTest, ReadsCompressedFilesAndTsv) {
  const std::string input = lines_of(3000, "in");
  const std::string output = lines_of(3000, "out");
  const auto plain = read_all(IndexedText(two(input, output), {}));
  const auto compressed = read_all(IndexedText(two(compress_gzip(input), compress_zstd(output)), {}));
  std::string tsv;
  for (std::size_t i = 0; i < plain.size(); ++i) tsv += plain.inputs[i] + "\t" + plain.outputs[i] + "\n";
  const auto from_tsv = read_all(IndexedText(Files{directory.write("c.tsv", compress_xz(tsv))}, {}));

  EXPECT_EQ(compressed.inputs, plain.inputs);
  EXPECT_EQ(compressed.outputs, plain.outputs);
  EXPECT_EQ(from_tsv.outputs, plain.outputs);
}

TEST_F(IndexedTextTest, ReadsAPipe) {
  const std::string pipe = directory.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "a\tb\nc\td\n"; });

  const IndexedText text(Files{pipe}, {});
  writer.join();

  EXPECT_THAT(text.read(0).outputs, ElementsAre("b", "d"));
}

TEST_F(IndexedTextTest, EndsAtItsLimit) {
  const Files files = two(lines_of(5000, "in"), lines_of(5000, "out"));
  const SentencePairs all = read_pairs(files);
  for (const std::int64_t limit : {1, 877, 878, 879, 2000, 100000}) {
    const IndexedText text(files, {}, limit);

    const auto expected = std::min<std::size_t>(all.size(), static_cast<std::size_t>(limit));
    EXPECT_EQ(text.report().kept, static_cast<std::int64_t>(expected));
    EXPECT_THAT(read_all(text).inputs, SizeIs(expected));
  }
}

TEST_F(IndexedTextTest, ThrowsIfAFileWasChanged) {
  const Files files = two(lines_of(3000, "in"), lines_of(3000, "out"));
  const IndexedText text(files, {});
  const std::string altered = lines_of(3000, "in").replace(18000, 1, "X");
  std::ofstream(files[0], std::ios::in | std::ios::out) << altered;

  EXPECT_EQ(text.read(0).size(), static_cast<std::size_t>(text.num_pairs(0)));
  EXPECT_THAT(error_of([&] { read_all(text); }),
              EndsWith(" has other text from line 2049 on than when it was first read, needs files that stay as they "
                       "are while a model learns from them"));
  EXPECT_NE(IndexedText(files, {}).fingerprint(), text.fingerprint());

  std::filesystem::resize_file(files[0], 100);
  EXPECT_THAT(error_of([&] { text.read(0); }), StartsWith("read_pairs: "));
}

TEST_F(IndexedTextTest, FingerprintDependsOnThePairs) {
  const Files files = two("a\nb\n", "b\nb\n");
  const auto fingerprint = IndexedText(files, {}).fingerprint();

  EXPECT_EQ(IndexedText(two("a\r\nb", "b\nb\n"), {}).fingerprint(), fingerprint);
  EXPECT_NE(IndexedText(files, {.same_sides = SameSides::kSkip}).fingerprint(), fingerprint);
  EXPECT_NE(IndexedText(two("a\nc\n", "b\nb\n"), {}).fingerprint(), fingerprint);
}

TEST_F(IndexedTextTest, ThrowsTheErrorsOfReadPairs) {
  const auto error = [this](const Files& files) {
    std::string text = error_of([&] { IndexedText(files, {}); });
    const std::string prefix = directory.path().string() + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
    return text;
  };

  EXPECT_EQ(error(two("1\n2\n3\n", "1\n")),
            "read_pairs: a.en has 3 lines and b.fr has 1; the two files of a pair need one line each per pair");
  EXPECT_EQ(error({directory.write("c.tsv", "\t\n")}),
            "read_pairs: c.tsv has no usable pair (1 pair with an empty side left out), needs at least one");
  EXPECT_EQ(error({directory.path() / "no.tsv"}), "read_pairs: no.tsv: No such file or directory");
  EXPECT_EQ(error({}), "read_pairs: files has 0 names, needs one TSV file, or two files with a sentence a line");
  const std::string compressed = compress_gzip("a\tb\n");
  EXPECT_EQ(error({directory.write("cut.gz", std::string_view(compressed).substr(0, compressed.size() - 3))}),
            "read_pairs: cut.gz ends in the middle of its gzip data, needs to be whole");
}

TEST(SamplePairs, SpreadsPairsEvenly) {
  SentencePairs pairs;
  for (int i = 0; i < 3000; ++i) {
    pairs.inputs.push_back(std::to_string(i));
    pairs.outputs.push_back(std::to_string(i));
  }
  pairs.report.kept = 3000;
  const TextInMemory text(pairs);

  EXPECT_THAT(sample_pairs(text, 4).inputs, ElementsAre("749", "1499", "2249", "2999"));
  EXPECT_EQ(sample_pairs(text, 0).outputs, pairs.outputs);
  EXPECT_EQ(sample_pairs(text, 5000).outputs, pairs.outputs);
  EXPECT_THAT(sample_pairs(text, 2999).inputs, SizeIs(2999));
}

}  // namespace
}  // namespace edgewise
