// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace edgewise {

/// The address space that a program with tcmalloc needs before it does anything: what large blocks leave.
inline constexpr std::int64_t kHeapReserve = 64'000'000;

/// If the process has a limit of address space, lets tcmalloc's heap leave a part of it for what cannot fail: the code
/// that oneDNN generates, stacks, and tcmalloc's own data, without which it would abort the process.
///
/// - A block above 1 MB, such as a tensor, leaves kHeapReserve; otherwise its allocation fails. In a LibraryCall, it
///   leaves as much as smaller blocks.
/// - Smaller blocks leave 16 MB. If they cannot, the process ends at once with an error and exit code 2, because its
///   libraries do not check such allocations.
///
/// A program that links this function checks before the initialisers of its libraries that these have enough.
void reserve_address_space();

}  // namespace edgewise
