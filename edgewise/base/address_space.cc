// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/address_space.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>

namespace edgewise {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

thread_local int num_library_calls = 0;

struct Limits {
  std::int64_t address_space;
  std::int64_t data;
};

std::int64_t read_limit(__rlimit_resource resource) {
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, kUnlimited));
}

const Limits& limits() {
  static const Limits limits = {.address_space = read_limit(RLIMIT_AS), .data = read_limit(RLIMIT_DATA)};
  return limits;
}

struct MappedBytes {
  std::int64_t all = 0;
  std::int64_t data = 0;
};

/// Reads /proc/self/statm: "size resident shared text lib data dt", in pages. Returns zeros if it cannot be read.
MappedBytes read_mapped_bytes() {
  constexpr std::size_t kAll = 0;
  constexpr std::size_t kData = 5;
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 256> text;
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  if (size <= 0) return {};
  std::array<std::int64_t, kData + 1> pages{};
  const char* begin = text.data();
  const char* end = begin + size;
  for (std::int64_t& number : pages) {
    begin = std::find_if(begin, end, [](char c) { return c != ' '; });
    begin = std::from_chars(begin, end, number).ptr;
  }
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return {.all = pages[kAll] * page, .data = pages[kData] * page};
}

std::int64_t thread_stack_size() {
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return 0;
  std::size_t stack = 0;
  std::size_t guard = 0;
  ::pthread_attr_getstacksize(&attributes, &stack);
  ::pthread_attr_getguardsize(&attributes, &guard);
  ::pthread_attr_destroy(&attributes);
  return static_cast<std::int64_t>(stack + guard);
}

}  // namespace

bool has_address_space_limit() { return limits().address_space != kUnlimited || limits().data != kUnlimited; }

std::int64_t address_space_left() noexcept {
  if (!has_address_space_limit()) return kUnlimited;
  const MappedBytes mapped = read_mapped_bytes();
  const std::int64_t left = std::min(limits().address_space - mapped.all, limits().data - mapped.data);
  return std::max<std::int64_t>(left, 0);
}

void require_address_space(std::int64_t bytes) {
  const std::int64_t left = address_space_left();
  if (left < bytes) throw OutOfAddressSpace(left, bytes);
}

bool has_address_space_for_thread() {
  return !has_address_space_limit() || address_space_left() - thread_stack_size() >= kReservedAddressSpace;
}

LibraryCall::LibraryCall() {
  if (num_library_calls == 0) require_address_space(kReservedAddressSpace);
  ++num_library_calls;
}

LibraryCall::~LibraryCall() { --num_library_calls; }

bool LibraryCall::is_running() noexcept { return num_library_calls > 0; }

}  // namespace edgewise
