// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/merge_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/regular_file.h"
#include "edgewise/base/sha256.h"
#include "edgewise/translate/part_file.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// A complete part, and the properties that its bytes must have.
struct Part {
  PartPaths paths;
  std::int64_t lines;
  std::string sha256;
};

void require_all_parts(const fs::path& out, std::int64_t shards, std::string_view caller) {
  std::vector<std::int64_t> missing;
  for (std::int64_t i = 0; i < shards; ++i) {
    if (!has_entry(part_paths(out, i, shards).part, caller)) missing.push_back(i);
  }
  check(missing.empty(), "{}: {} lacks {} of {} parts, needs all; translate with --shard I/{} for each I of {}", caller,
        out.string(), missing.size(), shards, shards, format_ranges(missing));
}

/// Throws Error unless the records are those of one text, whose bytes they have without a gap.
class RecordChain {
 public:
  RecordChain(const MergeOptions& options, std::int64_t shards) : options_(options), shards_(shards) {}

  void add(const PartRecord& record, const PartPaths& paths) {
    if (first_path_.empty()) {
      first_ = record;
      first_path_ = paths.record.string();
      PartRecord needed = record;
      needed.shards = shards_;
      if (options_.input != nullptr) needed.inputs = part_inputs(*options_.input);
      require_same(record, needed, first_path_, "for this input");
    }
    require_same(record, first_, paths.record.string(), "as in " + first_path_);
    check(record.begin == end_, "{}: {} begins at byte {} of the input, needs {}, where the part before ends",
          options_.caller, paths.record.string(), record.begin, end_);
    end_ = record.end;
    if (options_.input != nullptr) check_content(record, paths);
  }

  void finish() const {
    std::uint64_t size = 0;
    for (const PartInput& input : first_.inputs) size += input.size;
    check(end_ == size, "{}: the parts end at byte {} of the input, need all {} bytes", options_.caller, end_, size);
  }

 private:
  void require_same(const PartRecord& record, const PartRecord& needed, const std::string& path,
                    const std::string& reason) const {
    const auto difference = part_difference(record, needed);
    check(!difference, "{}: {} {} {}; remove the parts of the other text, and translate them again", options_.caller,
          path, difference.value_or(""), reason);
  }

  void check_content(const PartRecord& record, const PartPaths& paths) const {
    const TextShard shard = options_.input->shard(record.shard, shards_);
    const ShardContent content = options_.input->read(shard);
    const bool is_same =
        shard.end == record.end && content.sha256 == record.input_sha256 && content.lines == record.lines;
    check(is_same, "{}: {} is made from other lines than the input has; remove {}*, and translate the shard again",
          options_.caller, paths.part.string(), paths.part.string());
  }

  const MergeOptions& options_;
  std::int64_t shards_;
  PartRecord first_;
  std::string first_path_;  // empty before the first record
  std::uint64_t end_ = 0;
};

void append_part(AtomicFile& file, const Part& part, std::string_view caller) {
  Sha256 sum;
  std::int64_t lines = 0;
  RegularFile(part.paths.part, caller).for_each_chunk([&](std::string_view bytes) {
    sum.update(bytes);
    lines += std::ranges::count(bytes, '\n');
    file.write(bytes);
  });
  const bool is_same = lines == part.lines && sum.finish() == part.sha256;
  check(is_same, "{}: {} has other bytes than its record says; remove both, and translate the shard again", caller,
        part.paths.part.string());
}

}  // namespace

std::string format_ranges(const std::vector<std::int64_t>& numbers, std::size_t most) {
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t begin = 0; begin < numbers.size();) {
    if (ranges++ == most) return text + fmt::format(" and {} more", numbers.size() - begin);
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[begin]);
    if (end > begin + 1) text += fmt::format("-{}", numbers[end - 1]);
    begin = end;
  }
  return text;
}

MergedParts merge_parts(const fs::path& out, std::int64_t shards, const MergeOptions& options) {
  require_all_parts(out, shards, options.caller);
  RecordChain chain(options, shards);
  MergedParts merged;
  std::vector<Part> parts;
  for (std::int64_t i = 0; i < shards; ++i) {
    PartPaths paths = part_paths(out, i, shards);
    const PartRecord record = read_complete_record(paths, i, options.caller);
    chain.add(record, paths);
    merged.lines += record.lines;
    if (record.lines > 0) merged.kernels.insert(record.kernels);
    parts.push_back({std::move(paths), record.lines, record.sha256});
  }
  chain.finish();

  AtomicFile file(out, options.caller);
  for (const Part& part : parts) append_part(file, part, options.caller);
  file.commit();
  return merged;
}

}  // namespace edgewise
