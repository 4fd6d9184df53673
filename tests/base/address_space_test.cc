// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/address_space.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <thread>

#include "edgewise/base/background.h"
#include "edgewise/base/threads.h"

namespace edgewise {
namespace {

/// Addresses that are mapped, but never used.
class Mapping {
 public:
  explicit Mapping(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        begin_(::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(begin_, bytes_); }

  bool exists() const { return begin_ != MAP_FAILED; }

 private:
  std::size_t bytes_;
  void* begin_;
};

/// Leaves the process `bytes` to map, and less than a page more.
Mapping map_all_but(std::int64_t bytes) { return Mapping((address_space_left() - bytes) & ~std::int64_t{0xFFF}); }

/// Runs a check in a new process with a limit of address space. A process reads its limits only once.
class AddressSpace : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer reserves more addresses than any limit";
#endif
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts the program anew
  }

  static void expect_with_limit(const std::function<bool()>& check) {
    EXPECT_EXIT(run_with_limit(check), testing::ExitedWithCode(0), "");
  }

 private:
  [[noreturn]] static void run_with_limit(const std::function<bool()>& check) {
    struct rlimit limit {};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, rlim_t{8} << 30);
    ::setrlimit(RLIMIT_AS, &limit);
    std::_Exit(check() ? 0 : 1);
  }
};

bool can_begin_library_call() {
  try {
    const LibraryCall call;
    return true;
  } catch (const OutOfAddressSpace&) {
    return false;
  }
}

TEST_F(AddressSpace, IsTheLimitWithoutWhatIsMapped) {
  expect_with_limit([] {
    const std::int64_t before = address_space_left();
    const Mapping mapping(1 << 28);
    return has_address_space_limit() && mapping.exists() && address_space_left() == before - (1 << 28);
  });
}

TEST_F(AddressSpace, CanBeMappedUpToTheLastPage) {
  expect_with_limit([] {
    const Mapping nearly_all = map_all_but(1 << 20);
    return nearly_all.exists() && !Mapping(2 << 20).exists() && Mapping(1 << 20).exists();
  });
}

TEST_F(AddressSpace, IsRequiredBeforeALibraryIsCalled) {
  expect_with_limit([] {
    if (!can_begin_library_call()) return false;
    const Mapping nearly_all = map_all_but(kReservedAddressSpace - 8192);
    return !can_begin_library_call();
  });
}

TEST_F(AddressSpace, IsNotRequiredAgainInsideACallOfALibrary) {
  expect_with_limit([] {
    const LibraryCall call;
    const Mapping nearly_all = map_all_but(kReservedAddressSpace / 2);
    return can_begin_library_call();
  });
}

TEST_F(AddressSpace, ThatIsTooSmallForAStackStartsNoThread) {
  expect_with_limit([] {
    const Mapping nearly_all = map_all_but(kReservedAddressSpace);
    const bool is_refused = !try_start_thread([] {}).has_value();
    const std::thread::id caller = std::this_thread::get_id();
    return is_refused && run_in_background([] { return std::this_thread::get_id(); }).get() == caller;
  });
}

TEST_F(AddressSpace, ThatIsTooSmallForAStackLetsParallelForUseOneThread) {
  expect_with_limit([] {
    const Mapping nearly_all = map_all_but(kReservedAddressSpace);
    const NumThreadsScope threads(4);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> count = 0;
    std::atomic<bool> is_alone = true;
    parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
      count += static_cast<int>(end - begin);
      if (std::this_thread::get_id() != caller) is_alone = false;
    });
    return count == 100 && is_alone;
  });
}

TEST(LibraryCall, IsOfTheThreadThatBeganIt) {
  EXPECT_FALSE(LibraryCall::is_running());
  const LibraryCall outer;
  {
    const LibraryCall inner;
    EXPECT_TRUE(LibraryCall::is_running());
  }
  EXPECT_TRUE(LibraryCall::is_running());
  bool runs_elsewhere = true;
  std::thread([&] { runs_elsewhere = LibraryCall::is_running(); }).join();
  EXPECT_FALSE(runs_elsewhere);
}

}  // namespace
}  // namespace edgewise
