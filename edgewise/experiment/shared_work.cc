// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/shared_work.h"

#include <ATen/ops/zeros.h>

#include <cstdint>
#include <utility>

#include "edgewise/base/stop_request.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/distributed/process_group.h"

namespace edgewise {
namespace {

/// Returns the pieces of a process. Consecutive pieces have similar sizes, so each process takes every size()-th.
std::vector<std::size_t> pieces_of(std::size_t rank, std::size_t count, const ProcessGroup& processes) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = rank; i < count; i += static_cast<std::size_t>(processes.size())) numbers.push_back(i);
  return numbers;
}

/// Returns the results of this process. Throws StopException in all processes if one of them throws it.
template <class Work>
auto compute_own(ProcessGroup& processes, std::size_t count, const Work& work) {
  decltype(work({})) own;
  bool is_stopped = false;
  try {
    own = work(pieces_of(static_cast<std::size_t>(processes.rank()), count, processes));
  } catch (const StopException&) {
    is_stopped = true;
  }
  if (is_any_set(processes, is_stopped)) throw StopException();
  return own;
}

}  // namespace

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
