// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/translate_shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/text_shards.h"
#include "edgewise/translate/merge_parts.h"
#include "edgewise/translate/part_file.h"
#include "edgewise/translate/shard_lines.h"

namespace edgewise {
namespace {

using Clock = std::chrono::steady_clock;

void print_part(const PartFile& part, std::string_view state) {
  print_output("{}: {}, {} lines\n", printable(part.paths().part.string()), state, part.record().lines);
}

/// Decides when to save a part: a slow disk is to cost a hundredth of the time, and a kill at most half a minute.
class SaveClock {
 public:
  void save_if_due(PartFile& part) {
    const auto begin = Clock::now();
    if (begin < next_) return;
    part.save();
    const auto end = Clock::now();
    next_ = end + std::clamp<Clock::duration>(99 * (end - begin), kShortest, kLongest);
  }

 private:
  static constexpr std::chrono::seconds kShortest{1};
  static constexpr std::chrono::seconds kLongest{30};

  Clock::time_point next_ = Clock::now() + kShortest;
};

class ShardTranslation {
 public:
  explicit ShardTranslation(const ShardJob& job)
      : job_(job),
        caller_(job.lines.caller),
        text_(job.inputs, caller_),
        states_(static_cast<std::size_t>(job.choice.shards), State::kOpen) {}

  void run_one(std::int64_t shard) {
    PartFile part = make_part(shard);
    switch (claim(part)) {
      case PartFile::Claim::kComplete:
        part.check_input(text_.read(text_.shard(shard, job_.choice.shards)));
        print_part(part, "was complete");
        return;
      case PartFile::Claim::kLocked:
        fail("{}: another process writes {}, needs a shard that nobody writes; wait for that one's end, or use any/{}",
             caller_, part.paths().part.string(), job_.choice.shards);
      case PartFile::Claim::kWritable:
        translate(part, shard);
    }
  }

  void run_any() {
    while (const std::int64_t open = count(State::kOpen)) {
      if (run_open() < open) continue;
      constexpr std::chrono::seconds kInterval(1);
      std::this_thread::sleep_for(kInterval);  // a process that holds a part may complete it, or end before
    }
    std::vector<std::int64_t> failed;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i] == State::kFailed) failed.push_back(static_cast<std::int64_t>(i));
    }
    check(failed.empty(), "{}: {} of {} parts failed for the reasons above, needs all parts: {}", caller_,
          failed.size(), job_.choice.shards, format_ranges(failed));
  }

 private:
  enum class State { kOpen, kComplete, kFailed };

  std::int64_t count(State state) const { return std::ranges::count(states_, state); }

  /// Translates each open part that nobody holds. Returns how many open parts are left.
  std::int64_t run_open() {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i] == State::kOpen) states_[i] = try_part(static_cast<std::int64_t>(i));
    }
    return count(State::kOpen);
  }

  State try_part(std::int64_t shard) {
    PartFile part = make_part(shard);
    const PartFile::Claim result = claim(part);
    if (result == PartFile::Claim::kLocked) return State::kOpen;
    if (result == PartFile::Claim::kComplete) return State::kComplete;
    is_input_bad_ = false;
    try {
      translate(part, shard);
      return State::kComplete;
    } catch (const Error& error) {
      if (!is_input_bad_) throw;
      print_error("{}\n", printable(error.what()));
      return State::kFailed;
    }
  }

  PartFile make_part(std::int64_t shard) const {
    const TextShard bytes = text_.shard(shard, job_.choice.shards);
    PartRecord record = job_.record;
    record.shard = shard;
    record.shards = job_.choice.shards;
    record.inputs = part_inputs(text_);
    record.begin = bytes.begin;
    record.end = bytes.end;
    return PartFile(job_.out, std::move(record),
                    {.caller = caller_, .needs_locks = !job_.choice.shard.has_value(), .report = job_.lines.report});
  }

  /// Opens the models before the first claim of a part to translate: wrong options then leave no file behind.
  PartFile::Claim claim(PartFile& part) {
    if (!translator_ && !has_entry(part.paths().part, caller_)) translator_ = job_.open_translator();
    const PartFile::Claim claim = part.claim();
    check(claim != PartFile::Claim::kWritable || translator_ != nullptr,
          "{}: {} was removed meanwhile, needs to stay; repeat the command", caller_, part.paths().part.string());
    return claim;
  }

  void translate(PartFile& part, std::int64_t shard) {
    const TextShard bytes = text_.shard(shard, job_.choice.shards);
    part.begin(text_.read(bytes));
    ShardLines lines(text_, bytes, job_.lines);
    lines.skip(part.record().lines);
    if (part.record().lines < part.record().input_lines) translate_lines(part, lines);
    part.complete();
    print_part(part, "complete");
  }

  void translate_lines(PartFile& part, ShardLines& lines) {
    SaveClock clock;
    const auto next = [&]() -> std::optional<TranslationRequest> {
      try {
        auto line = lines.next();
        return line ? std::optional(TranslationRequest{*std::move(line)}) : std::nullopt;
      } catch (const Error&) {
        is_input_bad_ = true;
        throw;
      }
    };
    const auto take = [&](const Translation& translation) {
      part.write(format_translation(translation, /*number=*/0, job_.format));
      clock.save_if_due(part);
    };
    try {
      translator_->translate(next, take);
    } catch (const std::exception&) {
      part.save();
      throw;
    }
  }

  const ShardJob& job_;
  std::string caller_;
  ShardedText text_;
  std::vector<State> states_;
  std::unique_ptr<Translator> translator_;
  bool is_input_bad_ = false;  // whether a line of the part cannot be read
};

}  // namespace

void translate_shards(const ShardJob& job) {
  make_output_optional();
  require_replaceable(job.out, job.lines.caller);  // by the merge, which is too late to tell
  ShardTranslation translation(job);
  if (job.choice.shard) {
    translation.run_one(*job.choice.shard);
  } else {
    translation.run_any();
  }
}

void merge_shards(const MergeJob& job, std::string_view caller) {
  make_output_optional();
  std::optional<ShardedText> text;
  if (!job.inputs.empty()) text.emplace(job.inputs, std::string(caller));
  const MergedParts merged =
      merge_parts(job.out, job.shards, {.caller = std::string(caller), .input = text ? &*text : nullptr});
  if (merged.kernels.size() > 1) {
    print_error(
        "{}: the parts were computed with {}, whose results may differ in rare cases; EDGEWISE_KERNELS chooses one for "
        "all machines\n",
        caller, fmt::join(merged.kernels, " and "));
  }
  print_output("{}: {} parts, {} lines\n", printable(job.out), job.shards, merged.lines);
}

}  // namespace edgewise
