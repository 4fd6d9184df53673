// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/apps/runtime/shard_choice.h"
#include "edgewise/apps/runtime/translation_output.h"
#include "edgewise/translate/part_record.h"
#include "edgewise/translate/text_lines.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

struct ShardJob {
  std::vector<std::string> inputs;
  std::string out;
  ShardChoice choice;
  TextLinesOptions lines;                                        // without a path; its caller begins all errors
  TranslationFormat format;                                      // without numbers of lines
  PartRecord record;                                             // program, models, options and kernels
  std::function<std::unique_ptr<Translator>()> open_translator;  // is called once, if a part is to be translated
};

/// Translates a part of a text, or all parts that no other process holds, and waits until all parts are complete.
/// Prints a line for each part that this process completes, and for a chosen part that was complete. Throws Error for a
/// part of another text, model or other options, and for a chosen part that another process writes. If a line of a part
/// cannot be read, the other parts are translated before Error is thrown.
void translate_shards(const ShardJob& job);

struct MergeJob {
  std::vector<std::string> inputs;  // empty: the input is not compared
  std::string out;
  std::int64_t shards = 1;
};

/// Joins the parts of a text to `job.out` (merge_parts), and prints how many lines it has.
void merge_shards(const MergeJob& job, std::string_view caller);

}  // namespace edgewise
