// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/text_shards.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "edgewise/base/checked.h"
#include "edgewise/base/error.h"
#include "edgewise/base/sha256.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 16;

/// Returns floor(value · index / count) for index <= count <= kMaxShards. The product itself may overflow.
std::uint64_t share_of(std::uint64_t value, std::uint64_t index, std::uint64_t count) {
  return value / count * index + value % count * index / count;
}

std::string sample_sum(const RegularFile& file) {
  constexpr std::uint64_t kBlocks = ShardedText::kSampledBlocks;
  constexpr std::uint64_t kBytes = ShardedText::kBlockBytes;
  Sha256 sum;
  if (file.size() <= kBlocks * kBytes) {
    file.for_each_chunk([&](std::string_view bytes) { sum.update(bytes); });
    return sum.finish();
  }
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    const std::uint64_t begin = share_of(file.size() - kBytes, i, kBlocks - 1);  // the last block ends with the file
    sum.update(file.read_range(begin, begin + kBytes));
  }
  return sum.finish();
}

class SpanSource final : public ByteSource {
 public:
  SpanSource(const RegularFile& file, const FileSpan& span, std::string caller)
      : file_(file), span_(span), caller_(std::move(caller)) {}

  std::size_t read(std::span<char> buffer) override {
    if (span_.begin == span_.end) return 0;
    const std::string bytes =
        file_.read_range(span_.begin, std::min<std::uint64_t>(span_.end, span_.begin + buffer.size()));
    check(!bytes.empty(), "{}: {} has {} bytes, needs the {} that it had when opened; it was cut while it was read",
          caller_, file_.path().string(), span_.begin, file_.size());
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    span_.begin += bytes.size();
    return bytes.size();
  }

 private:
  const RegularFile& file_;
  FileSpan span_;  // the bytes that are still to be read
  std::string caller_;
};

}  // namespace

ShardedText::ShardedText(const std::vector<std::string>& paths, std::string caller) : caller_(std::move(caller)) {
  check(!paths.empty(), "{}: the input has no file, needs at least one", caller_);
  for (const std::string& path : paths) {
    const RegularFile& file = open_files_.emplace_back(path, caller_);
    check(!is_compressed({.path = path, .caller = caller_}),
          "{}: {} is compressed, needs plain text, because a shard begins in the middle; unpack the file first",
          caller_, path);
    const bool is_last = open_files_.size() == paths.size();
    check(is_last || file.size() == 0 || file.read_range(file.size() - 1, file.size()) == "\n",
          "{}: {} ends without a line feed, needs one before the next file", caller_, path);
    files_.push_back({path, file.size(), sample_sum(file)});
    starts_.push_back(checked_add(starts_.back(), file.size(), "the size of all inputs"));
  }
}

/// Returns the number of the first byte from `offset` on that begins a line, or the number of all bytes.
std::uint64_t ShardedText::first_line_from(std::uint64_t offset) const {
  if (offset == size()) return offset;
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const std::uint64_t start = *(after - 1);
  if (offset == start) return offset;
  const RegularFile& file = open_files_[static_cast<std::size_t>(after - starts_.begin()) - 1];
  for (std::uint64_t begin = offset - start - 1; begin < file.size(); begin += kChunkBytes) {
    const std::string bytes = file.read_range(begin, std::min(begin + kChunkBytes, file.size()));
    const std::size_t line_feed = bytes.find('\n');
    if (line_feed != std::string::npos) return start + begin + line_feed + 1;
  }
  return *after;
}

TextShard ShardedText::shard(std::int64_t index, std::int64_t count) const {
  check(count >= 1 && count <= kMaxShards, "{}: the number of shards is {}, needs a number from 1 to {}", caller_,
        count, kMaxShards);
  check(index >= 0 && index < count, "{}: the shard is {}, needs a number from 0 to {}", caller_, index, count - 1);
  const auto number = static_cast<std::uint64_t>(index);
  const auto all = static_cast<std::uint64_t>(count);
  TextShard shard = {.begin = first_line_from(share_of(size(), number, all)),
                     .end = first_line_from(share_of(size(), number + 1, all)),
                     .spans = {}};
  for (std::size_t file = 0; file < files_.size(); ++file) {
    const std::uint64_t begin = std::max(shard.begin, starts_[file]);
    const std::uint64_t end = std::min(shard.end, starts_[file + 1]);
    if (begin < end) shard.spans.push_back({file, begin - starts_[file], end - starts_[file]});
  }
  return shard;
}

ShardContent ShardedText::read(const TextShard& shard) const {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  Sha256 sum;
  ShardContent content;
  std::vector<char> buffer(kChunkBytes);
  for (const FileSpan& span : shard.spans) {
    const auto source = open(span);
    std::string_view bytes;
    while (const std::size_t size = source->read(buffer)) {
      bytes = {buffer.data(), size};
      sum.update(bytes);
      content.lines += std::ranges::count(bytes, '\n');
    }
    const bool is_mark_alone = span.begin == 0 && span.end == kMark.size() && bytes == kMark;
    if (bytes.back() != '\n' && !is_mark_alone) ++content.lines;
  }
  content.sha256 = sum.finish();
  return content;
}

std::unique_ptr<ByteSource> ShardedText::open(const FileSpan& span) const {
  return std::make_unique<SpanSource>(open_files_[span.file], span, caller_);
}

}  // namespace edgewise
