// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The compressed lists in the environment variables of Slurm.
namespace edgewise {

/// Returns the first host of a list such as "node[01-04,07],x", here "node01"; nothing if the list has another form.
std::optional<std::string> first_host(std::string_view hosts);

/// Returns the number of tasks of machine `machine`, from 0 on, of a list such as "4(x2),3"; nothing if the list has no
/// such machine or another form.
std::optional<std::int64_t> tasks_of_machine(std::string_view tasks, std::int64_t machine);

}  // namespace edgewise
