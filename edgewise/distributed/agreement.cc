// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/agreement.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "edgewise/base/stop_request.h"
#include "edgewise/base/utf8.h"

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

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  lines.push_back(text);
  return lines;
}

std::string describe_line(const std::vector<std::string_view>& lines, std::size_t line) {
  return line < lines.size() ? quote(lines[line]) : "missing";
}

/// Describes the first difference of two values that differ.
std::string describe_difference(std::string_view first, std::string_view other, std::size_t rank) {
  const std::vector<std::string_view> first_lines = split_lines(first);
  const std::vector<std::string_view> other_lines = split_lines(other);
  const std::size_t shorter = std::min(first_lines.size(), other_lines.size());
  std::size_t line = 0;
  while (line < shorter && first_lines[line] == other_lines[line]) ++line;
  const bool is_one_line = first_lines.size() == 1 && other_lines.size() == 1;
  const std::string place = is_one_line ? "the value" : fmt::format("line {}", line + 1);
  return fmt::format("{} is {} in rank 0 and {} in rank {}", place, describe_line(first_lines, line),
                     describe_line(other_lines, line), rank);
}

/// Returns the pieces of a process. Consecutive pieces have similar sizes, so each process takes every size()-th.
std::vector<std::size_t> pieces_of(std::size_t rank, std::size_t count, const ProcessGroup& processes) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = rank; i < count; i += static_cast<std::size_t>(processes.size())) numbers.push_back(i);
  return numbers;
}

/// Returns the results of this process. Throws StopException in all processes if one of them throws it.
auto compute_own(ProcessGroup& processes, std::size_t count, const auto& work) {
  decltype(work({})) own;
  stop_together(processes,
                [&] { own = work(pieces_of(static_cast<std::size_t>(processes.rank()), count, processes)); });
  return own;
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

void stop_together(ProcessGroup& processes, const std::function<void()>& work) {
  bool is_stopped = false;
  try {
    work();
  } catch (const StopException&) {
    is_stopped = true;
  }
  if (is_any_set(processes, is_stopped)) throw StopException();
}

void check_same(ProcessGroup& processes, const std::vector<std::pair<std::string, std::string>>& named_values) {
  std::vector<std::string> values;
  values.reserve(named_values.size());
  for (const auto& [name, value] : named_values) values.push_back(value);
  std::vector<std::vector<std::string>> all;
  for (const std::string& bytes : all_gather_bytes(processes, pack_strings(values))) {
    all.push_back(unpack_strings(bytes));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank].at(i) == all[0].at(i)) continue;
      fail_together(processes,
                    fmt::format("check_same: the {} of rank {} differs from that of rank 0, needs the same in all "
                                "processes; {}",
                                named_values[i].first, rank, describe_difference(all[0][i], all[rank][i], rank)));
    }
  }
}

std::vector<std::string> share_texts(ProcessGroup& processes, std::size_t count, const PieceTexts& work) {
  std::vector<std::string> own = compute_own(processes, count, work);
  if (processes.size() == 1) return own;
  std::vector<std::string> results(count);
  const std::vector<std::string> packed = all_gather_bytes(processes, pack_strings(own));
  for (std::size_t rank = 0; rank < packed.size(); ++rank) {
    std::vector<std::string> texts = unpack_strings(packed[rank]);
    const std::vector<std::size_t> numbers = pieces_of(rank, count, processes);
    for (std::size_t i = 0; i < numbers.size(); ++i) results[numbers[i]] = std::move(texts.at(i));
  }
  return results;
}

at::Tensor share_rows(ProcessGroup& processes, std::size_t count, const PieceRows& work) {
  at::Tensor own = compute_own(processes, count, work);
  if (processes.size() == 1) return own;
  // Process 0 has most pieces. In each process, row i is that of piece rank + i * size().
  const auto most = static_cast<std::int64_t>(pieces_of(0, count, processes).size());
  const std::int64_t columns = own.size(1);
  at::Tensor padded = at::zeros({most, columns}, own.options());
  padded.narrow(0, 0, own.size(0)).copy_(own);
  at::Tensor gathered = at::zeros({processes.size(), most, columns}, own.options());
  processes.all_gather(padded, gathered);
  return gathered.transpose(0, 1).reshape({-1, columns}).narrow(0, 0, static_cast<std::int64_t>(count)).contiguous();
}

}  // namespace edgewise
