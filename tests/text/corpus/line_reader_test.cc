// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/text/compression.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Lines = std::vector<std::string>;

struct Format {
  std::string name;
  std::function<std::string(std::string_view)> compress;
};

std::vector<Format> compressed_formats() {
  return {{"gzip", compress_gzip}, {"xz", compress_xz}, {"zstd", compress_zstd}};
}

class LineReaderTest : public testing::Test {
 protected:
  Lines read(std::string_view bytes, const LineReaderOptions& options = {}) {
    LineReader reader(directory.write("file", bytes), options);
    Lines lines;
    std::string line;
    while (reader.next(line)) {
      lines.push_back(line);
      EXPECT_EQ(reader.line_number(), static_cast<std::int64_t>(lines.size()));
    }
    EXPECT_FALSE(reader.next(line));
    EXPECT_EQ(line, "");
    repairs = reader.repairs();
    return lines;
  }

  /// Returns the error of reading a file with these bytes, without the name of the directory.
  std::string error_of_reading(std::string_view bytes, const LineReaderOptions& options = {}) {
    std::string error = error_of([&] { read(bytes, options); });
    const std::string prefix = directory.path().string() + "/";
    if (const auto at = error.find(prefix); at != std::string::npos) error.erase(at, prefix.size());
    return error;
  }

  TemporaryDirectory directory;
  LineRepairs repairs;
};

TEST_F(LineReaderTest, ReturnsAShortLineOfAPipeBeforeMoreBytesArrive) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "a\n", 2), 2);

  LineReader reader("/dev/fd/" + std::to_string(ends[0]));
  std::string line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "a");

  close(ends[1]);
  EXPECT_FALSE(reader.next(line));
  close(ends[0]);
}

TEST_F(LineReaderTest, EndsLinesAtLineFeedsOnly) {
  EXPECT_THAT(read("a\nb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(read("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(read("\n"), ElementsAre(""));
  EXPECT_THAT(read(""), ElementsAre());
  EXPECT_THAT(read("a\vb\fc\u0085d\u2028e\u2029f\x1Cg\n"), ElementsAre("a\vb\fc\u0085d\u2028e\u2029f\x1Cg"));
  EXPECT_THAT(read("a\0b\nc"s), ElementsAre("a\0b"s, "c"));
}

TEST_F(LineReaderTest, RemovesOneCarriageReturnBeforeALineFeed) {
  EXPECT_THAT(read("a\r\nb\r\r\n\r\nc\rd\ne\r"), ElementsAre("a", "b\r", "", "c\rd", "e\r"));
  EXPECT_EQ(repairs.carriage_returns, 3);
}

TEST_F(LineReaderTest, KeepsAllBytesOfATextIfAsked) {
  const LineReaderOptions keep = {.max_line_bytes = 4, .line_ends = LineEnds::kKeep, .chunk_size = 1};
  EXPECT_THAT(read("a\r\n\n\r\nb", keep), ElementsAre("a\r\n", "\n", "\r\n", "b"));
  EXPECT_THAT(read("\uFEFFa\nabcd\nabc\r\n\r", keep), ElementsAre("\uFEFFa\n", "abcd\n", "abc\r\n", "\r"));
  EXPECT_EQ(error_of_reading("abcde\n", keep), error_of_reading("abcde\n", {.max_line_bytes = 4}));
  EXPECT_EQ(repairs.carriage_returns, 0);
  EXPECT_FALSE(repairs.byte_order_mark);
}

TEST_F(LineReaderTest, SkipsAByteOrderMarkAtTheStartOnly) {
  EXPECT_THAT(read("\uFEFFa\n\uFEFFb\n"), ElementsAre("a", "\uFEFFb"));
  EXPECT_TRUE(repairs.byte_order_mark);
  EXPECT_THAT(read("\uFEFF"), ElementsAre());
  EXPECT_THAT(read("\xEF\xBB"), ElementsAre("\xEF\xBB"));
  EXPECT_FALSE(repairs.byte_order_mark);
}

TEST_F(LineReaderTest, NamesTheEncodingOfAForeignByteOrderMark) {
  EXPECT_EQ(
      error_of_reading("\xFF\xFE"s + "a\0"s),
      "read_lines: file begins with the byte order mark of UTF-16LE, needs UTF-8; convert it with iconv -f UTF-16LE "
      "-t UTF-8");
  EXPECT_THAT(error_of_reading("\xFE\xFF\0a"s), HasSubstr("mark of UTF-16BE"));
  EXPECT_THAT(error_of_reading("\xFF\xFE\0\0a"s), HasSubstr("mark of UTF-32LE"));
  EXPECT_THAT(error_of_reading("\0\0\xFE\xFF"s), HasSubstr("mark of UTF-32BE"));
  EXPECT_THAT(error_of_reading(compress_xz("\xFE\xFF\0a"s)), HasSubstr("mark of UTF-16BE"));
}

TEST_F(LineReaderTest, RejectsOrCutsALineAboveTheLimit) {
  const std::string text = "12345\n12345\r\n123456\n1234é\n" + std::string(1000, 'x') + "\nlast";
  const LineReaderOptions cut = {.max_line_bytes = 5, .long_lines = LongLines::kCut, .chunk_size = 7};

  EXPECT_EQ(error_of_reading(text, {.max_line_bytes = 5}),
            "read_lines: file:3 has more than 5 bytes in a line, needs at most 5");
  EXPECT_THAT(read(text, cut), ElementsAre("12345", "12345", "12345", "1234", "xxxxx", "last"));
  EXPECT_EQ(repairs.long_lines, 3);
}

TEST_F(LineReaderTest, ReportsWhichLineWasCut) {
  LineReader reader(directory.write("file", "123456\n123\n"), {.max_line_bytes = 5, .long_lines = LongLines::kCut});
  std::string line;

  reader.next(line);
  EXPECT_TRUE(reader.was_cut());
  reader.next(line);
  EXPECT_FALSE(reader.was_cut());
}

TEST_F(LineReaderTest, ReadsALineOfExactlyTheDefaultLimit) {
  const std::string line(std::size_t{1} << 20, 'x');

  EXPECT_THAT(read(line + "\n" + line), ElementsAre(line, line));
  EXPECT_EQ(error_of_reading(line + "x"),
            "read_lines: file:1 has more than 1048576 bytes in a line, needs at most 1048576");
}

TEST_F(LineReaderTest, DetectsCompressionByContentAtAnyChunkSize) {
  constexpr int kMaxWords = 20;  // with chunks of one byte, each byte costs a system call
  EXPECT_TRUE(rc::check([&](bool ends_with_line_feed) {
    const auto words = *rc::gen::resize(kMaxWords, rc::gen::arbitrary<Lines>());
    std::string text = "start";
    for (const std::string& word : words) text += word + "\n\r\n";
    if (!ends_with_line_feed) text += "last";
    const Lines expected = read(text);

    std::vector<std::string> forms = {text};
    for (const Format& format : compressed_formats()) forms.push_back(format.compress(text));
    for (const std::size_t chunk_size : {1, 7, 64 * 1024}) {
      for (const std::string& form : forms) RC_ASSERT(read(form, {.chunk_size = chunk_size}) == expected);
    }
  }));
}

TEST_F(LineReaderTest, ReadsConcatenatedCompressedFilesAsOneText) {
  for (const Format& format : compressed_formats()) {
    SCOPED_TRACE(format.name);
    const std::string compressed = format.compress("a\nb") + format.compress("") + format.compress("c\nd");
    for (const std::size_t chunk_size : {1, 64 * 1024}) {
      EXPECT_THAT(read(compressed, {.chunk_size = chunk_size}), ElementsAre("a", "bc", "d"));
    }
  }
}

TEST_F(LineReaderTest, RejectsTruncatedCompressedFiles) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i * i) + "\n";
  for (const Format& format : compressed_formats()) {
    const std::string compressed = format.compress(text);
    for (const std::size_t lost : {std::size_t{1}, std::size_t{4}, compressed.size() / 2, compressed.size() - 8}) {
      for (const std::size_t chunk_size : {1, 64 * 1024}) {
        EXPECT_EQ(error_of_reading(compressed.substr(0, compressed.size() - lost), {.chunk_size = chunk_size}),
                  "read_lines: file ends in the middle of its " + format.name + " data, needs to be whole")
            << lost;
      }
    }
  }
}

TEST_F(LineReaderTest, RejectsCompressedFilesFollowedByOtherBytes) {
  for (const std::size_t chunk_size : {1, 64 * 1024}) {
    const LineReaderOptions options = {.chunk_size = chunk_size};
    EXPECT_EQ(
        error_of_reading(compress_gzip("a") + "garbage after the end", options),
        "read_lines: file has gzip data that cannot be decompressed (incorrect header check), needs to be as it was "
        "compressed");
    EXPECT_EQ(
        error_of_reading(compress_xz("a") + "garbage after the end", options),
        "read_lines: file has xz data that cannot be decompressed (it was altered, or other bytes follow it), needs "
        "to be as it was compressed");
    EXPECT_EQ(
        error_of_reading(compress_zstd("a") + "garbage after the end", options),
        "read_lines: file has zstd data that cannot be decompressed (Unknown frame descriptor), needs to be as it was "
        "compressed");
  }
}

TEST_F(LineReaderTest, DetectsACorruptByteOfACompressedFile) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += std::to_string(i * 7919 % 1000) + " ";
  for (const Format& format : compressed_formats()) {
    const std::string compressed = format.compress(text);
    for (std::size_t i = compressed.size() / 4; i < compressed.size(); i += compressed.size() / 17) {
      std::string altered = compressed;
      altered[i] = static_cast<char>(altered[i] ^ 0x10);
      EXPECT_THAT(error_of_reading(altered), HasSubstr("read_lines: file ")) << format.name << " " << i;
    }
  }
}

TEST_F(LineReaderTest, DecompressesABombInLittleMemory) {
  const std::string compressed = compress_zstd(std::string(std::size_t{50} << 20, '\0'));
  const LineReaderOptions options = {.max_line_bytes = 1000, .long_lines = LongLines::kCut};

  EXPECT_THAT(read(compressed, options), ElementsAre(std::string(1000, '\0')));
}

TEST_F(LineReaderTest, RefusesAFileThatExpandsMoreThanText) {
  const std::string zeros(std::size_t{70} << 20, '\0');
  const LineReaderOptions options = {.max_line_bytes = 1000, .long_lines = LongLines::kCut};
  for (const Format& format : compressed_formats()) {
    EXPECT_EQ(error_of_reading(format.compress(zeros), options),
              "read_lines: file has " + format.name +
                  " data that decompresses to more than 1000 times its size, needs at most 1000 times; if the file is "
                  "right, decompress it first");
  }
}

TEST_F(LineReaderTest, RefusesDevicesWithoutAnEnd) {
  EXPECT_EQ(error_of([] { LineReader("/dev/zero"); }),
            "read_lines: /dev/zero is a device, needs a file, a pipe or a terminal");
  EXPECT_EQ(error_of([] { LineReader("/dev/urandom", {.caller = "translate"}); }),
            "translate: /dev/urandom is a device, needs a file, a pipe or a terminal");
  std::string line;
  EXPECT_FALSE(LineReader("/dev/null").next(line));
}

TEST_F(LineReaderTest, ReportsWhyAFileCannotBeRead) {
  EXPECT_EQ(error_of([] { LineReader("/nowhere/a.en"); }), "read_lines: /nowhere/a.en: No such file or directory");
  EXPECT_EQ(error_of([] { LineReader("/", {.caller = "score"}); }), "score: /: Is a directory");
  EXPECT_EQ(error_of([&] { LineReader(directory.write("f", ""), {.max_line_bytes = 0}); }),
            "read_lines: max_line_bytes is 0, needs a number from 1 to 1073741824");
  EXPECT_EQ(error_of([&] { LineReader(directory.write("f", ""), {.chunk_size = 0}); }),
            "read_lines: chunk_size is 0, needs 1 or more");
}

TEST_F(LineReaderTest, ReadSentencesSkipsEmptyLines) {
  EXPECT_THAT(read_sentences(directory.write("file", "\na\n\nb c\n"), "inspect"), ElementsAre("a", "b c"));
  EXPECT_THAT(error_of([&] { read_sentences(directory.write("file", "\n\n"), "inspect"); }),
              HasSubstr("file has no sentence, needs at least one"));
}

TEST_F(LineReaderTest, ReadSentencesNamesTheLineThatIsNotUtf8) {
  const std::string file = directory.write("file", "a\n\nbc\xFF\n");
  EXPECT_EQ(error_of([&] { read_sentences(file, "inspect"); }),
            "inspect: " + file + ":3 has a byte at 2 that is not UTF-8, needs UTF-8");
}

TEST_F(LineReaderTest, ReadsStandardInput) {
  const std::string file = directory.write("file", compress_gzip("a\nb"));
  ASSERT_NE(std::freopen(file.c_str(), "rb", stdin), nullptr);

  LineReader reader("-");
  std::string line;

  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "a");
  EXPECT_EQ(reader.path(), "standard input");
}

}  // namespace
}  // namespace edgewise
