// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/gpu/device.h"
#include "tests/emulator/launch_record.h"
#include "tests/emulator/shared_memory_limit.h"
#include "tests/kernels/device/schedules.h"
#include "tests/kernels/device/test_kernel.h"
#include "tests/support/device_buffer.h"

namespace edgewise::kernels::gpu {
namespace {

using emulator::KernelFault;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Returns the error of a kernel, the same one in each schedule but for the lines.
template <class Body>
std::string fault_of(Body body) {
  std::string fault;
  for_each_schedule([&] {
    try {
      run(body);
      ADD_FAILURE() << "the kernel has no error, needs one";
    } catch (const KernelFault& error) {
      fault = error.what();
    }
  });
  return fault;
}

std::string here(int line) { return "emulator_test.cc:" + std::to_string(line); }

TEST(Emulator, RecordsTheKernelsOfAllThreadsWhileARecordExists) {
  auto run_nothing = [](int num_blocks) { run([](TestShared&) {}, num_blocks); };
  run_nothing(1);
  const emulator::LaunchRecord outer;
  {
    const emulator::LaunchRecord inner;
    std::thread([&] { run_nothing(2); }).join();
    run_nothing(0);
    EXPECT_THAT(inner.kernels(), testing::ElementsAre("test"));
  }
  run_nothing(1);
  EXPECT_THAT(outer.kernels(), testing::ElementsAre("test", "test"));
}

TEST(Emulator, ReportsAShuffleThatALaneDoesNotReach) {
  const int line = __LINE__ + 2;
  const std::string fault = fault_of([](TestShared&) {
    if (thread_index() != 5) shuffle_xor(1, 1);
  });

  EXPECT_EQ(fault, "test, block 0: no thread can go on: threads 0-4: wait in shuffle at " + here(line) +
                       ", thread 5: ended, threads 6-31: wait in shuffle at " + here(line) + ", threads 32-63: ended");
}

TEST(Emulator, ReportsAReductionThatHalfOfAWarpReaches) {
  const int line = __LINE__ + 2;
  const std::string fault = fault_of([](TestShared&) {
    if (lane_index() < 16) reduce_lanes(1, Sum());
  });

  EXPECT_EQ(fault, "test, block 0: no thread can go on: threads 0-15: wait in shuffle at " + here(line) +
                       ", threads 16-31: ended, threads 32-47: wait in shuffle at " + here(line) +
                       ", threads 48-63: ended");
}

TEST(Emulator, ReportsLanesThatWaitInDifferentLines) {
  const std::string fault = fault_of([](TestShared&) {
    if (lane_index() < 16) {
      ballot(true);
    } else {
      synchronize_warp();
    }
  });

  EXPECT_THAT(fault, AllOf(StartsWith("test, block 0: no thread can go on: threads 0-15: wait in ballot at "),
                           HasSubstr("threads 16-31: wait in synchronize_warp at ")));
}

TEST(Emulator, ReportsABarrierThatAWarpDoesNotReach) {
  const int line = __LINE__ + 2;
  const std::string fault = fault_of([](TestShared&) {
    if (warp_index() == 1) synchronize_block();
  });

  EXPECT_EQ(fault,
            "test, block 0: no thread can go on: threads 0-31: ended, threads 32-63: wait in synchronize_block at " +
                here(line));
}

TEST(Emulator, ReportsABarrierInTwoLines) {
  const std::string fault = fault_of([](TestShared&) {
    if (warp_index() == 1) {
      synchronize_block();
    } else {
      synchronize_block();
    }
  });

  EXPECT_THAT(fault, StartsWith("test, block 0: threads wait for each other in different lines: "));
}

TEST(Emulator, ReportsWrongArgumentsOfCollectives) {
  const int line = __LINE__ + 1;
  EXPECT_EQ(fault_of([](TestShared&) { shuffle(1, 7, lane_index() < 4 ? 0x0000000F : kAllLanes); }),
            "test, block 0: shuffle: the source is lane 7, needs one of the lanes 0x0000000f (" + here(line) + ")");
  EXPECT_THAT(fault_of([](TestShared&) { ballot(true, 1u << 7); }),
              HasSubstr("ballot: lanes are 0x00000080, need the"));
  EXPECT_THAT(fault_of([](TestShared&) { synchronize_named_barrier(16, 64); }),
              HasSubstr("barrier is 16, needs 1 to 15"));
  EXPECT_THAT(fault_of([](TestShared&) { synchronize_named_barrier(1, 33); }),
              HasSubstr("num_threads is 33, needs a multiple of 32 up to 64"));
}

TEST(Emulator, ReportsAddressesThatADeviceCannotCopyTo) {
  const std::vector<Quad> data(64);
  const Quad* const from = data.data();
  EXPECT_THAT(fault_of([=](TestShared& shared) { copy_async<16>(&shared.values[1], from); }),
              HasSubstr("copy_async: the address in shared memory is no multiple of 16 bytes"));
  EXPECT_THAT(fault_of([=](TestShared& shared) { copy_async<16>(&shared.values[0], &from->words[1]); }),
              HasSubstr("copy_async: the address in global memory is no multiple of 16 bytes"));
  EXPECT_THAT(fault_of([=](TestShared& shared) { copy_async<16>(&shared + 1, from); }),
              HasSubstr("copy_async: the address is outside of the block's shared memory"));
  EXPECT_THAT(fault_of([=](TestShared& shared) {
                std::uint32_t words[4];
                load_matrices(words, &shared.values[lane_index()]);
              }),
              HasSubstr("load_matrices: the address in shared memory is no multiple of 16 bytes"));
}

TEST(Emulator, ReportsAddressesThatADeviceCannotLoadAtOnce) {
  const std::vector<Quad> data(1);
  const Quad* const from = data.data();
  run([=](TestShared&) { expect_aligned<16>(from); });
  EXPECT_THAT(fault_of([=](TestShared&) { expect_aligned<16>(&from->words[2]); }),
              HasSubstr("expect_aligned: the address is no multiple of 16 bytes"));
}

TEST(Emulator, ReportsCopiesThatNobodyWaitsFor) {
  const std::vector<Quad> data(64);
  const Quad* const from = data.data();
  EXPECT_THAT(fault_of([=](TestShared& shared) {
                if (thread_index() == 9) copy_async<16>(&shared.values[0], from);
                wait_for_copies<0>();  // the copy has no group
              }),
              HasSubstr("thread 9 ends before its copies are complete"));
}

TEST(Emulator, ReportsAnotherTypeOfSharedMemory) {
  EXPECT_THAT(fault_of([](TestShared&) { shared_memory<float>(); }),
              HasSubstr("shared_memory: the type has 4 bytes, needs those of Shared, 256"));
}

TEST(Emulator, ThrowsTheExceptionOfTheFirstBlockThatFails) {
  for_each_schedule([] {
    try {
      run(
          [](TestShared&) {
            synchronize_block();
            if (block_index() == 2 && thread_index() == 40) throw std::invalid_argument("block 2");
            synchronize_block();
          },
          4);
      ADD_FAILURE() << "the kernel has no error, needs one";
    } catch (const std::invalid_argument& error) {
      EXPECT_STREQ(error.what(), "block 2");
    }
  });
}

TEST(Emulator, RefusesAKernelThatNeedsMoreSharedMemoryThanTheGpuHas) {
  const emulator::SharedMemoryLimit limit(sizeof(TestShared) - 1);
  try {
    run([](TestShared&) {});
    ADD_FAILURE() << "the kernel has started, needs an error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "test: a block of this GPU has 255 bytes of shared memory, needs 256");
  }
}

TEST(Emulator, ReportsACopyOfOrdinaryMemoryOfTheHost) {
  device::Buffer<float> buffer(2);
  std::vector<float> values(2);
  EXPECT_THROW(begin_copy(buffer.data(), values.data(), 8, device::Stream()), KernelFault);
  EXPECT_THROW(begin_copy(values.data(), buffer.data(), 8, device::Stream()), KernelFault);
  EXPECT_THROW(begin_copy(buffer.data() + 1, buffer.data(), 8, device::Stream()), KernelFault);
  EXPECT_NO_THROW(begin_copy(buffer.data() + 1, buffer.data(), 4, device::Stream()));
}

TEST(Emulator, SharedMemoryIsUndefinedAtFirst) {
  std::atomic<int> count = 0;
  std::atomic<int>* const counter = &count;
  run([=](TestShared& shared) { *counter += std::isnan(shared.values[thread_index()]) ? 1 : 0; }, 2);
  EXPECT_EQ(count, 128);
}

// Every warp writes its part and reads the part of the other one.
template <bool kHasBarriers>
std::vector<float> exchange() {
  std::vector<float> out(64);
  float* const to = out.data();
  run([=](TestShared& shared) {
    for (int round = 0; round < 3; ++round) {
      shared.values[thread_index()] = static_cast<float>(round * 64 + thread_index());
      if (kHasBarriers) synchronize_block();
      to[thread_index()] += shared.values[63 - thread_index()];
      if (kHasBarriers) synchronize_block();
    }
  });
  return out;
}

TEST(Emulator, SchedulesDoNotChangeAKernelWithBarriers) {
  const std::vector<float> expected = exchange<true>();
  for_each_schedule([&] { EXPECT_EQ(exchange<true>(), expected); });
}

#if defined(__SANITIZE_THREAD__)
// The tests of this branch are the reports of ThreadSanitizer. They run in a new process each.
template <class Test>
void expect_race(Test test) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        test();
        std::exit(0);
      },
      testing::ExitedWithCode(66), "data race");
}

TEST(Emulator, ThreadSanitizerReportsAMissingBarrier) {
  expect_race([] { exchange<false>(); });
}

TEST(Emulator, ThreadSanitizerReportsBlocksThatWriteToTheSameMemory) {
  expect_race([] {
    const NumThreadsScope scope(2);
    int value = 0;
    int* const at = &value;
    std::atomic<int> begun = 0;
    std::atomic<int>* const counter = &begun;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    run(
        [=](TestShared&) {
          if (thread_index() != 0) return;
          // A worker that began late would leave both blocks to the other one. Relaxed operations order no memory.
          counter->fetch_add(1, std::memory_order_relaxed);
          while (counter->load(std::memory_order_relaxed) < 2 && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::yield();
          }
          *at += 1;
        },
        2);
  });
}

TEST(Emulator, ThreadSanitizerReportsACopyThatNoBarrierFollows) {
  expect_race([] {
    const std::vector<float> data(64, 1.0f);
    const float* const from = data.data();
    float sum = 0;
    float* const to = &sum;
    run([=](TestShared& shared) {
      copy_async<4>(&shared.values[thread_index()], &from[thread_index()]);
      commit_copies();
      wait_for_copies<0>();
      if (thread_index() == 0) *to = shared.values[1];
      synchronize_block();
    });
  });
}
#else
TEST(Emulator, SchedulesRevealAMissingBarrier) {
  std::set<std::string> different;
  for (const emulator::Schedule& schedule : emulator::all_schedules()) {
    const emulator::ScheduleScope scope(schedule);
    const std::vector<float> out = exchange<false>();
    if (out != exchange<true>()) different.insert(to_string(schedule));
  }
  EXPECT_EQ(different.size(), 5u) << testing::PrintToString(different);
}

// Returns the schedules in which `writer` writes the second number before `reader` has read the first one.
std::vector<std::string> schedules_that_reveal(int writer, int reader) {
  std::vector<std::string> result;
  for (const emulator::Schedule& schedule : emulator::all_schedules()) {
    const emulator::ScheduleScope scope(schedule);
    float sum = 0;
    float* const to = &sum;
    run([=](TestShared& shared) {
      for (int round = 0; round < 2; ++round) {
        if (thread_index() == writer) shared.values[0] = static_cast<float>(round);
        synchronize_block();
        if (thread_index() == reader) *to = *to * 10 + shared.values[0];
      }
    });
    if (sum == 11) result.push_back(to_string(schedule));
  }
  return result;
}

TEST(Emulator, SchedulesRevealABarrierThatIsMissingBehindARead) {
  EXPECT_THAT(schedules_that_reveal(0, 63), testing::IsSupersetOf({"in order", "warp by warp", "barrier-eager"}));
  EXPECT_THAT(schedules_that_reveal(63, 0), testing::Contains("reversed"));
}
#endif

#if defined(__SANITIZE_ADDRESS__)
TEST(Emulator, AddressSanitizerReportsMemoryOutOfBounds) {
  EXPECT_DEATH(run([](TestShared& shared) {
                 volatile float* const values = shared.values;
                 values[thread_index() + 1] = 1;
               }),
               "heap-buffer-overflow");
}

TEST(Emulator, AddressSanitizerReportsAReadBeforeTheCopyIsComplete) {
  const std::vector<Quad> data(64);
  const Quad* const from = data.data();
  EXPECT_DEATH(run([=](TestShared& shared) {
                 if (thread_index() != 0) return;
                 copy_async<16>(shared.values, from);
                 commit_copies();
                 volatile float* const values = shared.values;
                 values[1] = values[0];
                 wait_for_copies<0>();
               }),
               "use-after-poison");
}
#else
TEST(Emulator, ACopyLeavesItsBytesUndefinedUntilItIsComplete) {
  const std::vector<Quad> data(64);
  const Quad* const from = data.data();
  std::vector<float> before(64, 0);
  float* const to = before.data();
  run([=](TestShared& shared) {
    if (thread_index() != 0) return;
    shared.values[0] = 5;
    copy_async<16>(shared.values, from);
    commit_copies();
    to[0] = shared.values[0];
    wait_for_copies<1>();
    to[1] = shared.values[0];
    wait_for_copies<0>();
    to[2] = shared.values[0];
  });
  EXPECT_TRUE(std::isnan(before[0]));
  EXPECT_TRUE(std::isnan(before[1]));
  EXPECT_EQ(before[2], 0.0f);
}
#endif

}  // namespace
}  // namespace edgewise::kernels::gpu
