// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "edgewise/distributed/process_group.h"

namespace edgewise {

/// Computes the results of pieces of work from their numbers, in the order of the numbers: texts, or rows of fp64.
using PieceTexts = std::function<std::vector<std::string>(const std::vector<std::size_t>& numbers)>;
using PieceRows = std::function<at::Tensor(const std::vector<std::size_t>& numbers)>;

/// Divides `count` pieces of work among all processes, which call this function together, and returns all results in
/// the order of the pieces. Throws StopException in all processes if `work` throws it in one of them.
std::vector<std::string> share_texts(ProcessGroup& processes, std::size_t count, const PieceTexts& work);
at::Tensor share_rows(ProcessGroup& processes, std::size_t count, const PieceRows& work);  // [count, columns]

}  // namespace edgewise
