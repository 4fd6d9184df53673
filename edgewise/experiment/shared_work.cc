// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/shared_work.h"

#include <utility>

#include "edgewise/base/stop_request.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/distributed/packed_strings.h"

namespace edgewise {
namespace {

/// Returns the pieces of a process. Consecutive pieces have similar sizes, so each process takes every size()-th.
std::vector<std::size_t> pieces_of(std::size_t rank, std::size_t count, const ProcessGroup& processes) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = rank; i < count; i += static_cast<std::size_t>(processes.size())) numbers.push_back(i);
  return numbers;
}

}  // namespace

std::vector<std::string> share_work(ProcessGroup& processes, std::size_t count, const PieceWork& work) {
  std::vector<std::string> own;
  bool is_stopped = false;
  try {
    own = work(pieces_of(static_cast<std::size_t>(processes.rank()), count, processes));
  } catch (const StopException&) {
    is_stopped = true;
  }
  if (is_any_set(processes, is_stopped)) throw StopException();
  if (processes.size() == 1) return own;

  std::vector<std::string> results(count);
  const std::vector<std::string> packed = all_gather_bytes(processes, pack_strings(own));
  for (std::size_t rank = 0; rank < packed.size(); ++rank) {
    std::vector<std::string> strings = unpack_strings(packed[rank]);
    const std::vector<std::size_t> numbers = pieces_of(rank, count, processes);
    for (std::size_t i = 0; i < numbers.size(); ++i) results[numbers[i]] = std::move(strings.at(i));
  }
  return results;
}

}  // namespace edgewise
