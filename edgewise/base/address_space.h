// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <new>

// The limits of a process's address space (`ulimit -v`, `ulimit -d`). At a limit every allocation fails, also those of
// libraries that do not check their allocations: the code generator of oneDNN, for example, crashes. Such libraries are
// called while enough address space is left. Without a limit, all functions do nothing.

namespace edgewise {

/// The address space that must be left before a LibraryCall, and after a new thread has its stack. The first products
/// of oneDNN map 8 MB for code with AVX-512; the rest is for buffers of several threads.
inline constexpr std::int64_t kReservedAddressSpace = 32'000'000;

/// The exception of a process that has too little address space for what it would do next.
class OutOfAddressSpace : public std::bad_alloc {
 public:
  OutOfAddressSpace(std::int64_t left, std::int64_t needed) : left_(left), needed_(needed) {}
  const char* what() const noexcept override { return "too little address space is left"; }
  std::int64_t left() const { return left_; }
  std::int64_t needed() const { return needed_; }

 private:
  std::int64_t left_;
  std::int64_t needed_;
};

/// Returns whether this process had a limit when a function of this header was first called.
bool has_address_space_limit();

/// Returns how many bytes this process can map before it reaches its limits; without a limit, the largest number.
/// Allocates nothing, so that an allocator can call this function.
std::int64_t address_space_left() noexcept;

/// Throws OutOfAddressSpace if fewer bytes are left.
void require_address_space(std::int64_t bytes);

/// Returns whether the stack of one more thread, as std::thread starts it, leaves kReservedAddressSpace.
bool has_address_space_for_thread();

/// The scope of a call of a library that may crash if an allocation fails. Begins only if kReservedAddressSpace is
/// left.
class LibraryCall {
 public:
  /// Throws OutOfAddressSpace.
  LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
  ~LibraryCall();

  /// Returns whether this thread is in such a scope.
  static bool is_running() noexcept;
};

}  // namespace edgewise
