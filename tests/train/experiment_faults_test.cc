// SPDX-License-Identifier: Apache-2.0
// Tests trainings of edgewise train in which file system calls fail, with vocabularies, events and attention: for each
// kind of fault, one training for each 41st call. With EDGEWISE_FAULTS_TABLE (scripts/soak faults), tests every call.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <limits>

#include "tests/support/error_of.h"
#include "tests/support/faulty_file_system.h"
#include "tests/train/event_reader.h"
#include "tests/train/experiment_run.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

class ExperimentFaultsTest : public ExperimentRun {
 protected:
  void expect_same(const std::filesystem::path& run) const { EXPECT_EQ(find_difference(run, folder() / "whole"), ""); }

  /// Trains with faults, and then trains on without faults. Expects the files of the training without faults.
  void expect_nothing_lost(const Faults& faults, bool cuts_power) const {
    SCOPED_TRACE(fmt::format("call {} of {} fails", faults.first, static_cast<int>(faults.calls_of)));
    const std::filesystem::path run = folder() / "run";
    std::filesystem::remove_all(run);
    FaultyFileSystem files(faults);
    std::string error;
    {
      const ScopedFileSystem replaced(files);
      error = error_of([&] { train(run); });
    }
    if (cuts_power) files.cut_power();
    if (error == "no error") expect_same(run);
    train(run);
    expect_same(run);
    EXPECT_EQ(steps_and_tags(run), steps_and_tags(folder() / "whole"));
  }

  void fail_each_call(Faults faults, bool cuts_power) const {
    for (const CallsOf threads : {CallsOf::kThisThread, CallsOf::kOtherThreads}) {
      faults.calls_of = threads;
      const std::int64_t calls = count_calls(faults);
      const std::int64_t stride = std::getenv("EDGEWISE_FAULTS_TABLE") == nullptr ? 41 : 1;
      for (faults.first = 1; faults.first <= calls && !HasFailure(); faults.first += stride) {
        expect_nothing_lost(faults, cuts_power);
      }
      faults.first = calls + 1;
      if (cuts_power) expect_nothing_lost(faults, cuts_power);
    }
  }

 private:
  std::int64_t count_calls(Faults faults) const {
    faults.first = std::numeric_limits<std::int64_t>::max();
    std::filesystem::remove_all(folder() / "whole");
    FaultyFileSystem files(faults);
    const ScopedFileSystem replaced(files);
    train(folder() / "whole");
    return files.num_calls();
  }
};

TEST_F(ExperimentFaultsTest, LoseNothingIfOneCallFails) { fail_each_call({.error = ENOSPC}, false); }

TEST_F(ExperimentFaultsTest, LoseNothingIfAllLaterCallsFail) { fail_each_call({.are_lasting = true}, false); }

TEST_F(ExperimentFaultsTest, LoseNothingAtAPowerCut) {
  fail_each_call({.are_lasting = true, .removed_files = folder() / "removed"}, true);
}

}  // namespace
}  // namespace edgewise
