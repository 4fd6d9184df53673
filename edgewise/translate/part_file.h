// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "edgewise/base/file_descriptor.h"
#include "edgewise/base/sha256.h"
#include "edgewise/text/text_shards.h"
#include "edgewise/translate/part_record.h"

namespace edgewise {

/// The files of a part of `out`. Until the part is complete, its lines are in `unfinished`.
struct PartPaths {
  std::filesystem::path part;        // <out>.part-00003-of-00016
  std::filesystem::path record;      // the same with .json
  std::filesystem::path unfinished;  // the same with .unfinished
};

PartPaths part_paths(const std::filesystem::path& out, std::int64_t shard, std::int64_t shards);

/// Reads the record of a part that has its final name. Throws Error if it has no record, or if the record is that of an
/// incomplete part, of another shard or of a part with another size.
PartRecord read_complete_record(const PartPaths& paths, std::int64_t shard, std::string_view caller);

struct PartFileOptions {
  std::string caller;                                          // errors begin with this function name
  bool needs_locks = true;                                     // whether a file system without locks is an error
  std::function<void(const std::string& report)> report = {};  // receives a line if an unfinished part is begun again
};

/// Writes a part and its record. A process that is killed leaves an unfinished part, which another process continues
/// behind the lines of the last save().
///
/// The writer locks the file `unfinished` (flock), and the kernel releases the lock when the process ends in any way.
/// At completion the record becomes complete first, and then the file gets its final name.
class PartFile {
 public:
  enum class Claim {
    kWritable,  // this process has the lock; begin() comes next
    kComplete,  // the part is complete, and record() is its record
    kLocked     // another process writes the part
  };

  /// `needed` is the record of a part without lines, and without the content of its shard.
  PartFile(const std::filesystem::path& out, PartRecord needed, PartFileOptions options);

  /// Does not wait. Throws Error for a complete part whose record differs from the needed one, and names the
  /// difference.
  Claim claim();

  /// Throws Error unless the part, which is complete, is made from a shard with this content.
  void check_input(const ShardContent& input) const;

  /// Begins to write a part that claim() found to be writable: keeps the lines that another process has saved, and
  /// record() says how many. Throws Error for saved lines whose record differs from the needed one.
  void begin(const ShardContent& input);

  const PartRecord& record() const { return record_; }
  const PartPaths& paths() const { return paths_; }

  /// Writes whole lines with their line feeds.
  void write(std::string_view lines);

  /// Syncs all lines so far to the disk, and writes the record. Does nothing after a failure to write, because then
  /// nobody knows which bytes the disk has.
  void save();

  /// Saves, and gives the part its final name. Throws Error unless it has as many lines as the shard.
  void complete();

 private:
  bool find_complete();
  void check_same(const PartRecord& found) const;
  void fail_if(const std::optional<std::string>& difference) const;
  void keep_lines(const PartRecord& saved);
  bool has_saved_bytes(const PartRecord& saved);
  void check_error(int error);

  PartPaths paths_;
  PartFileOptions options_;
  PartRecord needed_;
  PartRecord record_;
  Sha256 sum_;  // sum of the bytes so far
  FileDescriptor file_{-1};
  std::int64_t saved_lines_ = 0;
  bool has_failed_ = false;
};

}  // namespace edgewise
