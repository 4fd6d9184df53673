// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/rank_reports.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace edgewise {
namespace {

struct Flags {
  bool is_stopped = false;
  bool is_save_requested = false;
  bool has_error = false;
};

static_assert(std::is_trivially_copyable_v<VirtualRankReport>);

std::size_t size_of_ranks(const ProcessReport& report) { return report.ranks.size() * sizeof(VirtualRankReport); }

/// Returns the bytes of a report without its error.
at::Tensor pack(const ProcessReport& report) {
  const Flags flags{report.is_stopped, report.is_save_requested, !report.error.empty()};
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(sizeof(flags) + size_of_ranks(report))}, at::kByte);
  auto* const begin = bytes.mutable_data_ptr<std::uint8_t>();
  std::memcpy(begin, &flags, sizeof(flags));
  std::memcpy(begin + sizeof(flags), report.ranks.data(), size_of_ranks(report));
  return bytes;
}

/// Reads the bytes of a report into `report`, which has as many ranks; returns whether the process has an error.
bool unpack(const std::uint8_t* bytes, ProcessReport& report) {
  Flags flags;
  std::memcpy(&flags, bytes, sizeof(flags));
  std::memcpy(report.ranks.data(), bytes + sizeof(flags), size_of_ranks(report));
  report.is_stopped = flags.is_stopped;
  report.is_save_requested = flags.is_save_requested;
  return flags.has_error;
}

}  // namespace

std::vector<ProcessReport> exchange_reports(ProcessGroup& processes, const ProcessReport& report) {
  if (processes.size() == 1) return {report};
  const at::Tensor own = pack(report);
  at::Tensor all = at::empty({processes.size(), own.numel()}, at::kByte);
  processes.all_gather(own, all);
  ProcessReport empty;
  empty.ranks.resize(report.ranks.size());
  std::vector<ProcessReport> reports(static_cast<std::size_t>(processes.size()), empty);
  bool has_error = false;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto* const bytes = all.const_data_ptr<std::uint8_t>() + static_cast<std::int64_t>(i) * own.numel();
    if (unpack(bytes, reports[i])) has_error = true;
  }
  if (!has_error) return reports;
  const std::vector<std::string> errors = all_gather_bytes(processes, report.error);
  for (std::size_t i = 0; i < reports.size(); ++i) reports[i].error = errors[i];
  return reports;
}

BatchProgress progress_of(const std::vector<ProcessReport>& reports) {
  BatchProgress progress;
  for (const ProcessReport& report : reports) {
    for (const VirtualRankReport& rank : report.ranks) {
      progress.positions.push_back(rank.position);
      progress.batches_per_epoch.push_back(rank.batches_per_epoch);
    }
  }
  return progress;
}

/// One sum after the other, so that the order of the floating-point sum does not depend on the processes.
LossSums sums_of(const std::vector<ProcessReport>& reports) {
  LossSums sums;
  for (const ProcessReport& report : reports) {
    for (const VirtualRankReport& rank : report.ranks) sums += rank.sums;
  }
  return sums;
}

double imbalance_of(const std::vector<ProcessReport>& reports) {
  std::int64_t all = 0;
  std::int64_t most = 0;
  for (const ProcessReport& report : reports) {
    std::int64_t tokens = 0;
    for (const VirtualRankReport& rank : report.ranks) tokens += rank.sums.tokens;
    all += tokens;
    most = std::max(most, tokens);
  }
  return all == 0 ? 1.0 : static_cast<double>(most) * static_cast<double>(reports.size()) / static_cast<double>(all);
}

}  // namespace edgewise
