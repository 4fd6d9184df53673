// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::Field;
using testing::IsEmpty;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

auto is_line(const char* work, std::int64_t count) {
  return AllOf(Field(&Profile::Line::work, work), Field(&Profile::Line::count, count));
}

TEST(Profile, CountsInnerWorkInsideItsOuterWork) {
  const Profile profile;
  for (int i = 0; i < 3; ++i) {
    const ScopedTimer loss("loss");
    const ScopedTimer products("products");
  }
  { const ScopedTimer products("products"); }

  EXPECT_THAT(profile.lines(),
              UnorderedElementsAre(is_line("loss", 3), is_line("loss / products", 3), is_line("products", 1)));
}

TEST(Profile, CountsInnerTimeOnlyForInnerWork) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  const auto begin = Profile::Clock::now();
  const Profile profile;
  {
    const ScopedTimer outer("outer");
    const ScopedTimer inner("inner");
    std::this_thread::sleep_for(kPause);
  }
  const std::chrono::duration<double> took = Profile::Clock::now() - begin;

  std::map<std::string, double> seconds;
  for (const Profile::Line& line : profile.lines()) seconds[line.work] = line.seconds;
  EXPECT_GE(seconds["outer / inner"], std::chrono::duration<double>(kPause).count());
  EXPECT_LE(seconds["outer"] + seconds["outer / inner"], took.count());
}

TEST(Profile, MeasuresOnlyTheThreadThatCreatedIt) {
  const Profile profile;
  std::thread([] { const ScopedTimer elsewhere("elsewhere"); }).join();
  EXPECT_THAT(profile.lines(), IsEmpty());
}

TEST(Profile, RejectsASecondProfileOfAThread) {
  const Profile profile;
  EXPECT_THAT([] { const Profile another; },
              ThrowsMessage<Error>("Profile: this thread has a profile already, needs to have none"));
}

TEST(Profile, EndsWithItsScope) {
  { const Profile profile; }
  const ScopedTimer between("between");
  const Profile profile;
  EXPECT_THAT(profile.lines(), IsEmpty());
}

}  // namespace
}  // namespace edgewise
