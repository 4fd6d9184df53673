// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/text_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "edgewise/base/file_system.h"
#include "edgewise/base/sha256.h"
#include "tests/text/compression.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using Texts = std::vector<std::string>;

/// Counts the bytes that are read.
class CountingFileSystem : public FileSystem {
 public:
  ssize_t read_at(int file, std::uint64_t offset, std::span<char> buffer) override {
    const ssize_t size = FileSystem::read_at(file, offset, buffer);
    bytes_read += size;
    return size;
  }

  std::int64_t bytes_read = 0;
};

/// Returns the first byte from i/n of all bytes on that begins a line.
std::uint64_t begin_by_definition(const std::string& text, std::int64_t i, std::int64_t n) {
  const std::uint64_t offset = text.size() * static_cast<std::uint64_t>(i) / static_cast<std::uint64_t>(n);
  if (offset == 0) return 0;
  const std::size_t line_feed = text.find('\n', offset - 1);
  return line_feed == std::string::npos ? text.size() : line_feed + 1;
}

std::string bytes_of(const ShardedText& text, const TextShard& shard) {
  std::string bytes;
  for (const FileSpan& span : shard.spans) {
    const auto source = text.open(span);
    char buffer[7];
    while (const std::size_t size = source->read(buffer)) bytes.append(buffer, size);
  }
  return bytes;
}

class TextShards : public testing::Test {
 protected:
  ShardedText open(const Texts& texts) const {
    Texts paths;
    for (const std::string& text : texts) {
      paths.push_back(directory.write("text" + std::to_string(paths.size()), text));
    }
    return {paths, "test"};
  }

  std::string error_of_opening(const Texts& texts) const {
    std::string error = error_of([&] { open(texts); });
    const std::string prefix = directory.path().string() + "/";
    for (auto at = error.find(prefix); at != std::string::npos; at = error.find(prefix)) error.erase(at, prefix.size());
    return error;
  }

  TemporaryDirectory directory;
};

/// Returns texts with short lines, empty lines and lines of all lengths.
rc::Gen<std::string> any_text() {
  return rc::gen::container<std::string>(rc::gen::weightedElement<char>({{5, 'a'}, {2, '\n'}, {1, '\r'}, {1, '\xC3'}}));
}

TEST_F(TextShards, AreTheTextAgainAndBeginWithALineEach) {
  EXPECT_TRUE(rc::check([&] {
    Texts texts = *rc::gen::resize(300, rc::gen::container<Texts>(*rc::gen::inRange<std::size_t>(1, 4), any_text()));
    for (std::size_t i = 0; i + 1 < texts.size(); ++i) {
      if (!texts[i].empty()) texts[i] += '\n';
    }
    const std::string whole = std::accumulate(texts.begin(), texts.end(), std::string());
    const auto count = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 12), rc::gen::just<std::int64_t>(997));
    const ShardedText text = open(texts);
    RC_ASSERT(text.size() == whole.size());
    std::uint64_t end = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const TextShard shard = text.shard(i, count);
      RC_ASSERT(shard.begin == end);
      RC_ASSERT(shard.begin == begin_by_definition(whole, i, count));
      end = shard.end;
      if (shard.begin == shard.end) {
        RC_ASSERT(shard.spans.empty());
        continue;
      }
      RC_ASSERT(bytes_of(text, shard) == whole.substr(shard.begin, shard.end - shard.begin));
    }
    RC_ASSERT(end == whole.size());
  }));
}

TEST_F(TextShards, DifferInSizeByAtMostOneLine) {
  std::string lines;
  for (int i = 0; i < 5000; ++i) lines += std::string(static_cast<std::size_t>(i % 50), 'x') + "\n";
  const ShardedText text = open({lines});
  for (std::int64_t i = 0; i < 7; ++i) {
    const TextShard shard = text.shard(i, 7);
    EXPECT_NEAR(static_cast<double>(shard.end - shard.begin), static_cast<double>(lines.size()) / 7, 51);
  }
}

TEST_F(TextShards, AreFoundWithoutReadingTheFile) {
  constexpr std::uint64_t kFileSize = std::uint64_t{20} << 30;  // a sparse file
  const std::string path = directory.write("large", "");
  std::filesystem::resize_file(path, kFileSize - 1);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kFileSize / 2 + 1000).put('\n').seekp(kFileSize - 1).put('\n');
  file.close();

  CountingFileSystem counting;
  const ScopedFileSystem scope(counting);
  const ShardedText text({path}, "test");
  EXPECT_EQ(text.shard(1, 2).begin, kFileSize / 2 + 1001);
  EXPECT_EQ(text.shard(1, 2).end, kFileSize);
  EXPECT_LT(counting.bytes_read, 2'000'000);
}

TEST_F(TextShards, ReadOnlyTheirOwnBytes) {
  std::string lines;
  for (int i = 0; i < 600'000; ++i) lines += "line\n";
  const ShardedText text = open({lines});
  const TextShard shard = text.shard(3, 10);
  CountingFileSystem counting;
  const ScopedFileSystem scope(counting);
  const ShardContent content = text.read(shard);
  EXPECT_EQ(content.lines, 60'000);
  EXPECT_EQ(content.sha256, sha256(lines.substr(shard.begin, shard.end - shard.begin)));
  EXPECT_EQ(counting.bytes_read, 300'000);
}

TEST_F(TextShards, CountLinesAsAReaderOfLinesDoes) {
  const auto count = [&](const Texts& texts) {
    const ShardedText text = open(texts);
    return text.read(text.shard(0, 1)).lines;
  };
  EXPECT_EQ(count({""}), 0);
  EXPECT_EQ(count({"\n"}), 1);
  EXPECT_EQ(count({"a\n\nb"}), 3);
  EXPECT_EQ(count({"a\n", "", "b"}), 2);
  EXPECT_EQ(count({"\xEF\xBB\xBF"}), 0);
  EXPECT_EQ(count({"\xEF\xBB\xBF\n", "\xEF\xBB\xBF"}), 1);
}

TEST_F(TextShards, HaveASampleSumThatTellsAlteredTextsApart) {
  const std::string small(1000, 'a');
  EXPECT_NE(open({small}).files()[0].sha256, open({small.substr(1) + "b"}).files()[0].sha256);
  std::string large(3'000'000, 'a');
  const std::string sum = open({large}).files()[0].sha256;
  EXPECT_EQ(open({large}).files()[0].sha256, sum);
  large.back() = 'b';
  EXPECT_NE(open({large}).files()[0].sha256, sum);
}

TEST_F(TextShards, NeedPlainFilesWhoseLinesEnd) {
  EXPECT_EQ(error_of_opening({}), "test: the input has no file, needs at least one");
  EXPECT_EQ(error_of_opening({"a\n", "b", "c"}),
            "test: text1 ends without a line feed, needs one before the next file");
  for (const std::string& packed : {compress_gzip("a\n"), compress_xz("a\n"), compress_zstd("a\n")}) {
    EXPECT_EQ(error_of_opening({packed}),
              "test: text0 is compressed, needs plain text, because a shard begins in the middle; unpack the file "
              "first");
  }
  EXPECT_THAT(error_of([&] { ShardedText({directory.path().string()}, "test"); }), HasSubstr("is a directory"));
}

TEST_F(TextShards, AreCountedFromZero) {
  const ShardedText text = open({"a\nb\n"});
  EXPECT_EQ(error_of([&] { static_cast<void>(text.shard(2, 2)); }), "test: the shard is 2, needs a number from 0 to 1");
  EXPECT_EQ(error_of([&] { static_cast<void>(text.shard(-1, 2)); }),
            "test: the shard is -1, needs a number from 0 to 1");
  EXPECT_EQ(error_of([&] { static_cast<void>(text.shard(0, 100'000)); }),
            "test: the number of shards is 100000, needs a number from 1 to 99999");
}

TEST_F(TextShards, NoticeAFileThatIsCutWhileItIsRead) {
  const ShardedText text = open({"a\nb\nc\nd\n"});
  std::filesystem::resize_file(directory.path() / "text0", 4);
  EXPECT_THAT(error_of([&] { static_cast<void>(text.read(text.shard(1, 2))); }),
              HasSubstr("text0 has 4 bytes, needs the 8 that it had when opened; it was cut while it was read"));
}

}  // namespace
}  // namespace edgewise
