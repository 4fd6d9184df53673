// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/zeros.h>

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "edgewise/base/config/config.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/sha256.h"
#include "edgewise/experiment/attention_log.h"
#include "edgewise/experiment/run_record.h"
#include "edgewise/options/experiment.h"
#include "edgewise/pictures/run_comparison.h"
#include "edgewise/train/checkpoint.h"
#include "edgewise/train/training_state.h"
#include "edgewise/viz/attention_page.h"
#include "tests/fuzz/archive.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKind = "transformer";

/// A model of two parameters, which is never trained.
class SmallTask : public TrainingTask {
 public:
  std::string kind() const override { return kKind; }
  std::int64_t size() const override { return 2; }
  std::vector<NamedTensor> parameters() override { return {{"weight", weight_}, {"bias", bias_}}; }
  BatchLoss loss(const Batch&, Pass&) override { fail("SmallTask: loss() is not defined"); }
  Validation validate(const StopRequest&) override { fail("SmallTask: validate() is not defined"); }
  std::map<std::string, std::string> model_files() override { return {{"config.toml", "[model]\n"}}; }

 private:
  at::Tensor weight_ = at::zeros({2, 2}).requires_grad_();
  at::Tensor bias_ = at::zeros({2}).requires_grad_();
};

/// Resumes a run from RUN/last, and saves what was read.
void resume(const fs::path& run, const TrainingState& state, bool is_averaged) {
  SmallTask task;
  const FlatParameters parameters(task.parameters(), 1);
  const OwnedPieces pieces(parameters, single_process());
  Adam adam(parameters, pieces);
  std::optional<WeightAverage> average;
  if (is_averaged) average.emplace(parameters, pieces, 0.9);
  const CheckpointObjects objects{task, parameters, pieces, adam, average ? &*average : nullptr};
  read_last_tensors(run, state, objects);
  Snapshot snapshot = snapshot_last(run, objects, gather_tensors(objects), state);
  write_snapshot(snapshot);
}

bool is_consistent(const AttentionMaps& maps) {
  const std::size_t size = maps.rows.size() * maps.columns.size();
  for (const auto& layer : maps.weights) {
    if (layer.size() != maps.num_heads()) return false;
    for (const auto& head : layer) {
      if (head.size() != size) return false;
    }
  }
  return maps.num_heads() > 0;
}

}  // namespace

void read_state(std::string_view bytes) {
  accept_errors([&] {
    const TrainingState state = parse_training_state(bytes, "last/training.toml", kKind);
    const std::string written = training_state_text(state, kKind);
    require(training_state_text(parse_training_state(written, "written.toml", kKind), kKind) == written);
  });
}

void read_metrics(std::string_view bytes) {
  static const Folder folder("metrics");
  static const bool is_ready = [] {
    const std::string config = to_toml(Experiment());
    folder.write("config.toml", config);
    folder.write(std::string(kManifestName),
                 manifest_text({.tool = "fuzz", .files = {{"config.toml", config.size(), sha256(config)}}}));
    return true;
  }();
  require(is_ready);
  folder.write("metrics.jsonl", bytes);
  accept_errors([&] {
    const std::vector<RunRecord> runs = {read_run(folder.path(), "fuzz")};
    require(!compare_runs(runs).empty());
    require(!comparison_page(runs).empty());
  });
}

void read_comparison(std::string_view bytes) {
  static const Folder folder("comparison");
  folder.write_archive(bytes);
  accept_errors([&] {
    std::vector<RunRecord> runs;
    for (const char* run : {"first", "second"}) runs.push_back(read_run(folder.path() / run, "fuzz"));
    for (const ComparisonColumn& column : compare_runs(runs)) require(column.cells.size() == runs.size());
    require(!comparison_page(runs).empty());
  });
}

void read_attention(std::string_view bytes) {
  static const Folder folder("attention");
  folder.write("attention.jsonl", bytes);
  const bool was_readable = accept_errors([&] {
    for (const AttentionSnapshot& snapshot : read_attention_log(folder.path(), "fuzz")) {
      for (const AttentionMaps& maps : snapshot.maps) require(is_consistent(maps));
      if (!snapshot.maps.empty()) {
        require(!html_of({.title = "step", .input = "", .output = "", .maps = snapshot.maps}).empty());
      }
    }
  });
  // A resumed training keeps the lines up to its last validation, and appends others.
  constexpr std::int64_t kValidated = 20;
  AttentionLog log(folder.path());
  if (!accept_errors([&] { log.on_begin({.validated_step = kValidated}); })) return;
  log.on_validation(kValidated + 1, {.attention = "[]"}, /*is_best=*/false);
  log.before_save();
  std::vector<AttentionSnapshot> snapshots;
  const bool is_readable = accept_errors([&] { snapshots = read_attention_log(folder.path(), "fuzz"); });
  require(is_readable || !was_readable);
  if (!is_readable) return;
  require(!snapshots.empty() && snapshots.back().step == kValidated + 1);
  for (std::size_t i = 0; i + 1 < snapshots.size(); ++i) require(snapshots[i].step <= kValidated);
}

void read_checkpoint(std::string_view bytes) {
  static const Folder folder("checkpoint");
  for (const bool is_averaged : {false, true}) {
    folder.write_archive(bytes);
    const fs::path& run = folder.path();
    // A reader waits 10 ms for a directory that is absent.
    for (const char* directory : {"last", "previous", "best", "best-scheduled"}) {
      std::error_code is_file;
      fs::create_directory(run / directory, is_file);
    }
    if (!accept_errors([&] { restore_last(run); })) return;
    require(restore_last(run).empty());
    std::optional<TrainingState> state;
    accept_errors([&] { state = read_last_state(run, kKind); });
    if (!state) return;
    accept_errors([&] { put_best_back(run, *state); });
    accept_errors([&] { resume(run, *state, is_averaged); });
    require(restore_last(run).empty());
    require(training_state_text(read_last_state(run, kKind), kKind) == training_state_text(*state, kKind));
  }
}

std::span<const Reader> run_readers() {
  static constexpr Reader kReaders[] = {
      {"attention", read_attention}, {"checkpoint", read_checkpoint}, {"comparison", read_comparison},
      {"metrics", read_metrics},     {"state", read_state},
  };
  return kReaders;
}

}  // namespace edgewise::fuzz
