// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/agreement.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <algorithm>

namespace edgewise {
namespace {

/// Returns the text of the Error that `work` throws; "" if it throws none.
std::string error_text_of(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

void fail_together(const ProcessGroup& processes, const std::string& text) {
  if (processes.size() == 1) throw Error(text);
  throw CollectiveError(text);
}

void on_first_process(ProcessGroup& processes, const std::function<void()>& work) {
  if (processes.size() == 1) return work();
  const std::string error = broadcast_bytes(processes, processes.rank() == 0 ? error_text_of(work) : "");
  if (!error.empty()) throw CollectiveError(error);
}

void in_all_processes(ProcessGroup& processes, const std::function<void()>& work) {
  if (processes.size() == 1) return work();
  const std::vector<std::string> errors = all_gather_bytes(processes, error_text_of(work));
  const auto first = std::ranges::find_if(errors, [](const std::string& error) { return !error.empty(); });
  if (first == errors.end()) return;
  const bool have_all = std::ranges::all_of(errors, [&](const std::string& error) { return error == *first; });
  throw CollectiveError(have_all ? *first : fmt::format("{} (rank {})", *first, first - errors.begin()));
}

bool is_any_set(ProcessGroup& processes, bool is_set) {
  if (processes.size() == 1) return is_set;
  const at::Tensor all = at::empty({processes.size()}, at::kByte);
  processes.all_gather(at::full({1}, is_set ? 1 : 0, at::kByte), all);
  return all.any().item<bool>();
}

}  // namespace edgewise
