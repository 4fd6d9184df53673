// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/indexed_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"

namespace edgewise {
namespace {

/// Reads a file from an offset, independently of other readers.
class OffsetSource final : public ByteSource {
 public:
  OffsetSource(const FileDescriptor& file, std::int64_t offset, const std::string& caller, const std::string& name)
      : file_(file), offset_(offset), caller_(caller), name_(name) {}

  std::size_t read(std::span<char> buffer) override {
    while (true) {
      const ssize_t count = ::pread(file_.number(), buffer.data(), buffer.size(), offset_);
      if (count >= 0) {
        offset_ += count;
        return static_cast<std::size_t>(count);
      }
      if (errno != EINTR) fail("{}: {}: {}", caller_, name_, error_text(errno));
    }
  }

 private:
  const FileDescriptor& file_;
  std::int64_t offset_;
  std::string caller_;
  std::string name_;
};

/// Copies the text to a file without a name, which the system deletes even if the program crashes.
FileDescriptor copy_decompressed(const std::string& path, const std::string& caller) {
  const auto source = open_source({.path = path, .caller = caller});
  std::error_code folder_error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(folder_error);
  check(!folder_error, "{}: TMPDIR: {}; {} is decompressed there, set TMPDIR to a directory with room for it", caller,
        folder_error.message(), source_name(path));
  std::string copy_path = (folder / "edgewise-XXXXXX").string();
  FileDescriptor copy(::mkostemp(copy_path.data(), O_CLOEXEC));
  const auto check_error = [&](int error) {
    check(error == 0, "{}: {}: {}; {} is decompressed there, set TMPDIR to a directory with room for it", caller,
          copy_path, error_text(error), source_name(path));
  };
  check_error(copy.is_open() ? 0 : errno);
  ::unlink(copy_path.c_str());
  std::vector<char> chunk(std::size_t{1} << 16);
  while (const std::size_t count = source->read(chunk)) check_error(write_all(copy, {chunk.data(), count}));
  return copy;
}

bool is_seekable(const std::string& path, const std::string& caller) {
  std::error_code error;
  return path != "-" && std::filesystem::is_regular_file(path, error) &&
         !is_compressed({.path = path, .caller = caller});
}

FileDescriptor open_seekable(const std::string& path, const std::string& caller) {
  if (!is_seekable(path, caller)) return copy_decompressed(path, caller);
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  check(file.is_open(), "{}: {}: {}", caller, path, error_text(errno));
  return file;
}

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Counts and hash of the lines that `scan` read.
struct Scan {
  std::int32_t lines = 0;
  std::int32_t pairs = 0;
  std::uint64_t hash = 0;
};

/// Reads at most `max_lines` lines and at most `max_pairs` usable pairs, and calls `use` for each usable pair.
template <class Use>
Scan scan(PairReader& reader, std::int64_t max_lines, std::int64_t max_pairs, Use use) {
  Scan scan;
  TextHash hash;
  while (scan.lines < max_lines && scan.pairs < max_pairs && reader.next()) {
    ++scan.lines;
    hash.add(reader.input());
    hash.add(reader.output());
    if (!reader.link_line().empty()) hash.add(reader.link_line());
    if (!reader.is_usable()) continue;
    ++scan.pairs;
    use(reader);
  }
  scan.hash = hash.value();
  return scan;
}

}  // namespace

SeekableFile::SeekableFile(const std::string& path, const std::string& caller)
    : name_(source_name(path)), caller_(caller), file_(open_seekable(path, caller)) {}

std::unique_ptr<ByteSource> SeekableFile::from(std::int64_t offset) const {
  return std::make_unique<OffsetSource>(file_, offset, caller_, name_);
}

std::int64_t SeekableFile::size() const {
  const off_t end = ::lseek(file_.number(), 0, SEEK_END);  // sources read at offsets of their own
  check(end >= 0, "{}: {}: {}", caller_, name_, error_text(errno));
  return end;
}

IndexedText::IndexedText(std::span<const std::string> files, const PairOptions& options, std::int64_t limit)
    : options_(options) {
  check_num_files(files.size() - std::size_t{options.has_links && !files.empty()});
  for (const std::string& file : files) files_.emplace_back(file, line_options(options).caller);
  index(limit > 0 ? limit : kNoLimit);
  check_pairs_left(report_, name_);
}

PairReader IndexedText::reader_from(const Block& block) const {
  std::vector<LineReader> readers;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    readers.emplace_back(files_[i].from(block.offsets[i]), files_[i].name(), block.lines_before,
                         line_options(options_));
  }
  return {std::move(readers), options_};
}

void IndexedText::index(std::int64_t limit) {
  PairReader reader = reader_from({});
  name_ = reader.name();
  std::int64_t lines = 0;
  std::int64_t pairs = 0;
  while (pairs < limit) {
    Block block{.lines_before = lines};
    // The first block begins at offset 0, where a reader skips a byte order mark.
    if (lines > 0) std::ranges::copy(reader.offsets(), block.offsets.begin());
    const Scan found = scan(reader, kBlockSize, limit - pairs, [](const PairReader&) {});
    if (found.lines == 0) break;
    block.lines = found.lines;
    block.pairs = found.pairs;
    block.hash = found.hash;
    blocks_.push_back(block);
    fingerprint_ = mix(mix(fingerprint_, block.hash), static_cast<std::uint64_t>(block.pairs));
    lines += found.lines;
    pairs += found.pairs;
  }
  report_ = reader.report();
}

SentencePairs IndexedText::read(std::int64_t number) const {
  const Block& block = at(number);
  PairReader reader = reader_from(block);
  SentencePairs pairs;
  const Scan found = scan(reader, block.lines, kNoLimit, [&](const PairReader& pair) {
    pairs.inputs.push_back(pair.input());
    pairs.outputs.push_back(pair.output());
    if (options_.has_links) pairs.links.push_back(pair.links());
  });
  check(found.hash == block.hash,
        "read_pairs: {} has other text from line {} on than when it was first read, needs files that stay as they are "
        "while a model learns from them",
        name_, block.lines_before + 1);
  return pairs;
}

}  // namespace edgewise
