// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "edgewise/distributed/process_group.h"

namespace edgewise {

/// An error that all processes of a group throw with the same text, so that process 0 reports it for all.
class CollectiveError : public Error {
 public:
  using Error::Error;
};

/// Throws CollectiveError in a group of several processes, and Error in a single process. All processes call this
/// function with the same text.
[[noreturn]] void fail_together(const ProcessGroup& processes, const std::string& text);

/// Runs `work` in process 0, for example to read or write files that it alone has. The others wait. An Error of `work`
/// becomes a CollectiveError of all processes; a single process throws the Error itself. `work` calls no function of
/// the group.
void on_first_process(ProcessGroup& processes, const std::function<void()>& work);

/// Runs `work` in all processes, which call this function together. If `work` throws Error in some of them, throws
/// CollectiveError in all: with the text alone if all processes have the same, otherwise with that of the first such
/// process and its rank. A single process throws the Error itself. `work` calls no function of the group.
void in_all_processes(ProcessGroup& processes, const std::function<void()>& work);

/// Returns whether `is_set` is true in any process. All processes call this function.
bool is_any_set(ProcessGroup& processes, bool is_set);

/// Runs `work` in all processes, which call this function together. Throws StopException in all if `work` throws it in
/// one of them: a request to stop reaches the processes at different times.
void stop_together(ProcessGroup& processes, const std::function<void()>& work);

/// Throws CollectiveError if a value, such as {"config", text}, differs between processes. The error names the first
/// value that differs, the first process whose value is not that of process 0, and the first line that differs. All
/// processes call this function with the same names.
void check_same(ProcessGroup& processes, const std::vector<std::pair<std::string, std::string>>& named_values);

/// Computes the results of pieces of work from their numbers, in the order of the numbers: texts, or rows of fp64.
using PieceTexts = std::function<std::vector<std::string>(const std::vector<std::size_t>& numbers)>;
using PieceRows = std::function<at::Tensor(const std::vector<std::size_t>& numbers)>;

/// Divides `count` pieces of work among all processes, which call this function together, and returns all results in
/// the order of the pieces. Throws StopException in all processes if `work` throws it in one of them.
std::vector<std::string> share_texts(ProcessGroup& processes, std::size_t count, const PieceTexts& work);
at::Tensor share_rows(ProcessGroup& processes, std::size_t count, const PieceRows& work);  // [count, columns]

}  // namespace edgewise
