// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/text/text_shards.h"

// The file beside a part of a translated text, which tells what the part is made from and how much of it is written.

namespace edgewise {

struct PartInput {
  std::string path;        // for readers; another path may have the same file
  std::uint64_t size = 0;  // bytes
  std::string sha256;      // sum of a sample (ShardedText::File)
};

struct PartRecord {
  std::string program;  // with its version: `edgewise 0.1.0`
  std::int64_t shard = 0;
  std::int64_t shards = 1;
  std::vector<PartInput> inputs;
  std::uint64_t begin = 0;  // the shard's bytes of all inputs
  std::uint64_t end = 0;
  std::int64_t input_lines = 0;                              // lines of these bytes
  std::string input_sha256;                                  // sum of these bytes
  std::vector<std::string> models;                           // a SHA-256 of each model
  std::vector<std::pair<std::string, std::string>> options;  // name and value of all that change the output
  std::string kernels;                                       // instructions that computed the lines

  bool is_complete = false;
  std::int64_t lines = 0;   // lines of the part that are safe on the disk
  std::uint64_t bytes = 0;  // bytes of these lines
  std::string sha256;       // sum of these bytes
};

/// The most bytes of a record's file.
inline constexpr std::uint64_t kMaxPartRecordBytes = std::uint64_t{1} << 24;

/// Returns what a record says of the files of a text.
std::vector<PartInput> part_inputs(const ShardedText& text);

std::string part_record_text(const PartRecord& record);

/// Parses the text of a record. Throws Error, which begins with `where`, also for numbers that contradict each other.
PartRecord parse_part_record(std::string_view text, const std::string& where);

/// Describes the first difference between two records of parts of one text: `has search.beam 4, needs 5`, where the
/// second value is that of `needed`. Compares all but the shard and its bytes, the paths of inputs, the kernels
/// and the progress. Returns nothing without a difference.
std::optional<std::string> part_difference(const PartRecord& record, const PartRecord& needed);

}  // namespace edgewise
