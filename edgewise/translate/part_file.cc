// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/file_system.h"
#include "edgewise/base/files.h"
#include "edgewise/base/regular_file.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

PartRecord read_record(const fs::path& path, std::string_view caller) {
  return parse_part_record(read_file(path, caller, kMaxPartRecordBytes), fmt::format("{}: {}", caller, path.string()));
}

/// Takes the lock of a file without waiting. Returns 0 or errno; EWOULDBLOCK if another process has it.
int lock(const FileDescriptor& file) { return ::flock(file.number(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno; }

}  // namespace

PartPaths part_paths(const fs::path& out, std::int64_t shard, std::int64_t shards) {
  const std::string part = fmt::format("{}.part-{:05}-of-{:05}", out.string(), shard, shards);
  return {.part = part, .record = part + ".json", .unfinished = part + ".unfinished"};
}

PartRecord read_complete_record(const PartPaths& paths, std::int64_t shard, std::string_view caller) {
  check(has_entry(paths.record, caller), "{}: {} has no record, needs {}; remove the part, and translate it again",
        caller, paths.part.string(), paths.record.string());
  PartRecord record = read_record(paths.record, caller);
  check(record.shard == shard, "{}: {} is the record of shard {}, needs {}", caller, paths.record.string(),
        record.shard, shard);
  const std::uint64_t size = RegularFile(paths.part, caller).size();
  check(record.is_complete && record.bytes == size,
        "{}: {} has {} bytes, needs {} as in its record; remove the part and its record, and translate it again",
        caller, paths.part.string(), size, record.bytes);
  return record;
}

PartFile::PartFile(const fs::path& out, PartRecord needed, PartFileOptions options)
    : paths_(part_paths(out, needed.shard, needed.shards)),
      options_(std::move(options)),
      needed_(std::move(needed)),
      record_(needed_) {}

void PartFile::check_same(const PartRecord& found) const {
  std::optional<std::string> difference = part_difference(found, needed_);
  const bool has_same_bytes = found.begin == needed_.begin && found.end == needed_.end;
  if (!difference && !has_same_bytes) {
    difference = fmt::format("has bytes {} to {}, needs {} to {}", found.begin, found.end, needed_.begin, needed_.end);
  }
  fail_if(difference);
}

/// Throws Error if the record of the part on the disk differs from that of this process.
void PartFile::fail_if(const std::optional<std::string>& difference) const {
  check(!difference, "{}: {} {}; repeat the command that began it, or remove {}* to translate the shard again",
        options_.caller, paths_.record.string(), difference.value_or(""), paths_.part.string());
}

void PartFile::check_input(const ShardContent& input) const {
  if (record_.input_sha256 != input.sha256) fail_if("has an input with other contents between its begin and end");
}

bool PartFile::find_complete() {
  if (!has_entry(paths_.part, options_.caller)) return false;
  record_ = read_complete_record(paths_, needed_.shard, options_.caller);
  check_same(record_);
  return true;
}

PartFile::Claim PartFile::claim() {
  while (true) {
    if (find_complete()) return Claim::kComplete;
    FileDescriptor file = open_regular_file(paths_.unfinished, O_CREAT, options_.caller);
    const int error = lock(file);
    if (error == EWOULDBLOCK) return Claim::kLocked;
    check(error == 0 || !options_.needs_locks,
          "{}: {}: {}; a queue needs a file system with locks, use --shard I/N with a number for each process",
          options_.caller, paths_.unfinished.string(), error_text(error));
    if (!is_named(file, paths_.unfinished)) continue;
    // Another process may have completed the part before this one created a new file.
    if (find_complete()) {
      file_system().remove(paths_.unfinished);
      return Claim::kComplete;
    }
    file_ = std::move(file);
    return Claim::kWritable;
  }
}

void PartFile::begin(const ShardContent& input) {
  needed_.input_lines = input.lines;
  needed_.input_sha256 = input.sha256;
  record_ = needed_;
  if (has_entry(paths_.record, options_.caller)) {
    const PartRecord saved = read_record(paths_.record, options_.caller);
    check_same(saved);
    if (saved.input_sha256 != input.sha256) fail_if("has an input with other contents between its begin and end");
    keep_lines(saved);
  }
  saved_lines_ = record_.lines;
  // Cuts off the lines that were written after the last save.
  int error = file_system().truncate(file_.number(), record_.bytes) == 0 ? 0 : errno;
  if (error == 0 && ::lseek(file_.number(), 0, SEEK_END) < 0) error = errno;
  check_error(error);
}

/// Keeps the lines of the last save if they are there and this process computes further lines in the same way.
void PartFile::keep_lines(const PartRecord& saved) {
  std::string reason;
  if (saved.kernels != needed_.kernels) {
    reason = fmt::format("was computed with {}, and this machine computes with {}", saved.kernels, needed_.kernels);
  } else if (!has_saved_bytes(saved)) {
    reason = "has other bytes than its record says";
  } else {
    record_.lines = saved.lines;
    record_.bytes = saved.bytes;
    return;
  }
  sum_ = Sha256();
  if (!options_.report || saved.lines == 0) return;
  options_.report(fmt::format("{}: {} {}; it is begun again", options_.caller, paths_.unfinished.string(), reason));
}

/// Returns whether the unfinished file begins with the bytes of a save, and adds them to the sum.
bool PartFile::has_saved_bytes(const PartRecord& saved) {
  const RegularFile file(paths_.unfinished, options_.caller);
  if (file.size() < saved.bytes) return false;
  constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 16;
  for (std::uint64_t begin = 0; begin < saved.bytes; begin += kChunkBytes) {
    sum_.update(file.read_range(begin, std::min(begin + kChunkBytes, saved.bytes)));
  }
  return sum_.digits_so_far() == saved.sha256;
}

void PartFile::write(std::string_view lines) {
  check_error(write_all(file_, lines));
  sum_.update(lines);
  record_.bytes += lines.size();
  record_.lines += std::ranges::count(lines, '\n');
}

void PartFile::save() {
  if (has_failed_) return;
  check_error(file_system().sync(file_.number()) == 0 ? 0 : errno);
  record_.sha256 = sum_.digits_so_far();
  try {
    write_file_atomically(paths_.record, part_record_text(record_), options_.caller);
  } catch (const Error& error) {
    fail("{}; {} lines are kept, and the same command continues after them", error.what(), saved_lines_);
  }
  saved_lines_ = record_.lines;
}

void PartFile::complete() {
  check(record_.lines == record_.input_lines, "{}: {} has {} lines, needs the {} of the input", options_.caller,
        paths_.unfinished.string(), record_.lines, record_.input_lines);
  record_.is_complete = true;
  save();
  check_error(file_system().rename(paths_.unfinished, paths_.part) == 0 ? 0 : errno);
  check_error(sync_directory(paths_.part.parent_path()));
}

void PartFile::check_error(int error) {
  has_failed_ = has_failed_ || error != 0;
  check(error == 0, "{}: {}: {}; {} lines are kept, and the same command continues after them", options_.caller,
        paths_.unfinished.string(), error_text(error), saved_lines_);
}

}  // namespace edgewise
