// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/document_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/text/compression.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Strings = std::vector<std::string>;

/// Joins the passages of all blocks to documents. Expects that the passages of a document follow each other.
Strings documents_of(const DocumentText& text) {
  Strings documents;
  bool is_open = false;
  for (std::int64_t block = 0; block < text.num_blocks(); ++block) {
    for (const Passage& passage : text.read(block)) {
      EXPECT_NE(passage.begins, is_open);
      if (passage.begins) documents.emplace_back();
      documents.back() += passage.text;
      is_open = !passage.ends;
    }
  }
  return documents;
}

class DocumentTextTest : public testing::Test {
 protected:
  std::shared_ptr<const SeekableFile> file(std::string_view text) {
    return std::make_shared<SeekableFile>(directory.write("text" + std::to_string(++files_), text), "read_texts");
  }

  DocumentText open(std::string_view text, const DocumentOptions& options = {}) {
    return DocumentText({whole_file(file(text))}, options);
  }

  TemporaryDirectory directory;
  int files_ = 0;
};

TEST_F(DocumentTextTest, IsOneDocumentForEachFileWithoutASeparator) {
  const DocumentText text({whole_file(file("one\n\ntwo\r\n")), whole_file(file("three"))}, {});

  EXPECT_THAT(documents_of(text), ElementsAre("one\n\ntwo\r\n", "three"));
  EXPECT_EQ(text.report().documents, 2);
  EXPECT_EQ(text.report().bytes, 15);
  EXPECT_EQ(text.report().lines, 4);
}

TEST_F(DocumentTextTest, SplitsDocumentsAtSeparatorsInBlocksOfAnySize) {
  EXPECT_TRUE(rc::check([this] {
    const auto lines = *rc::gen::container<Strings>(rc::gen::element<std::string>(
        "a\n", "bc\n", "\n", "é x\n", "==\n", "==\r\n", "== \n", "long line without end\n"));
    std::string all;
    Strings expected(1);
    for (const std::string& line : lines) {
      all += line;
      if (line == "==\n" || line == "==\r\n") {
        expected.emplace_back();
      } else {
        expected.back() += line;
      }
    }
    std::erase(expected, "");
    if (expected.empty()) return;
    const auto source = file(all);

    const DocumentText text({whole_file(source)},
                            {.separator = "==", .block_bytes = *rc::gen::inRange<std::int64_t>(8, 40)});

    RC_ASSERT(documents_of(text) == expected);
    RC_ASSERT(text.report().documents == static_cast<std::int64_t>(expected.size()));
  }));
}

TEST_F(DocumentTextTest, CutsALongLineBetweenCodePoints) {
  std::string line;
  for (int i = 0; i < 50; ++i) line += i % 3 == 0 ? "é" : "€";
  const DocumentText text = open(line, {.block_bytes = 16});

  EXPECT_GT(text.num_blocks(), 8);
  EXPECT_THAT(documents_of(text), ElementsAre(line));
}

TEST_F(DocumentTextTest, ReadsCompressedFilesAsPlainOnes) {
  const DocumentText plain = open("one\ntwo\n");
  const DocumentText compressed = open(compress_gzip("one\ntwo\n"));

  EXPECT_EQ(documents_of(compressed), documents_of(plain));
  EXPECT_EQ(compressed.fingerprint(), plain.fingerprint());
}

TEST_F(DocumentTextTest, CutsAFileInTwoBetweenCodePoints) {
  const auto source = file("0123456789ééééé");  // 20 bytes
  const auto [first, last] = cut_file(source, 0.55, /*is_bytes=*/false);
  const DocumentText train({first}, {});
  const DocumentText valid({last}, {});

  EXPECT_THAT(documents_of(train), ElementsAre("0123456789"));
  EXPECT_THAT(documents_of(valid), ElementsAre("ééééé"));
  EXPECT_FALSE(train.read(0).back().ends);
  EXPECT_TRUE(valid.read(0).back().ends);
  EXPECT_EQ(cut_file(source, 0.55, /*is_bytes=*/true).first.end, 11);
}

TEST_F(DocumentTextTest, TreatsLinesThatAreNotUtf8AsTheOptionsSay) {
  const std::string bad = "good\nb\xFF d\nend\n";
  EXPECT_THAT(error_of([&] { open(bad); }), HasSubstr(":2 has a byte at 1 that is not UTF-8, needs UTF-8"));

  const DocumentText skipped = open(bad, {.bad_utf8 = BadUtf8::kSkip});
  EXPECT_THAT(documents_of(skipped), ElementsAre("good\nend\n"));
  EXPECT_EQ(skipped.report().skipped, 1);
  EXPECT_THAT(skipped.report().first_bad, ElementsAre(HasSubstr(":2 has a byte at 1")));
  EXPECT_THAT(documents_of(open(bad, {.bad_utf8 = BadUtf8::kReplace})), ElementsAre("good\nb\uFFFD d\nend\n"));
  EXPECT_THAT(documents_of(open(bad, {.is_bytes = true})), ElementsAre(bad));
}

TEST_F(DocumentTextTest, RefusesATextWithoutTextOrWithAnotherEncodingAndAChangedFile) {
  EXPECT_THAT(error_of([&] { open(""); }), HasSubstr(" has no text, needs some"));
  EXPECT_THAT(error_of([&] { open("--\n--\n", {.separator = "--"}); }), HasSubstr(" has no text, needs some"));
  EXPECT_THAT(error_of([&] {
                open(
                    std::string_view("\xFF\xFE"
                                     "a\0",
                                     4));
              }),
              HasSubstr("begins with the byte order mark of UTF-16 or UTF-32, needs UTF-8"));

  const std::string path = directory.write("changing", "first\ntext\n");
  const DocumentText text({whole_file(std::make_shared<SeekableFile>(path, "read_texts"))}, {});
  std::ofstream(path, std::ios::in | std::ios::out) << "other";
  EXPECT_THAT(error_of([&] { text.read(0); }), HasSubstr(" has other text from line 1 on than when it was first read"));
}

TEST_F(DocumentTextTest, HasAnotherFingerprintForOtherDocuments) {
  const auto fingerprint = [this](std::string_view text, const std::string& separator) {
    return open(text, {.separator = separator}).fingerprint();
  };

  EXPECT_EQ(fingerprint("a\nb\n", ""), fingerprint("a\nb\n", ""));
  EXPECT_NE(fingerprint("a\nb\n", ""), fingerprint("a\nc\n", ""));
  EXPECT_NE(fingerprint("a\nb\n", ""), fingerprint("a\nb\n", "b"));
}

TEST_F(DocumentTextTest, GivesASampleOfLinesOfTheWholeText) {
  std::string all;
  for (int i = 0; i < 100; ++i) all += std::to_string(i) + "\n";
  const DocumentText text = open(all, {.block_bytes = 16});

  EXPECT_EQ(sample_lines(text, 0).size(), 100U);
  EXPECT_THAT(sample_lines(text, 4), ElementsAre("24\n", "49\n", "74\n", "99\n"));
}

}  // namespace
}  // namespace edgewise
