// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// Where a thread's time goes:
//
//     Profile profile;
//     train();                                    // somewhere within: const TimedWork timed("attention");
//     for (const Profile::Line& line : profile.lines()) …

namespace edgewise {

/// While it lives, the time of the thread that made it is counted by the kind of work that TimedWork names. One a
/// thread at a time.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  struct Line {
    std::string work;      // "loss / products": those within the loss
    double seconds = 0.0;  // without the work within it that has a line of its own
    std::int64_t times = 0;
  };

  Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  ~Profile();

  /// Each kind of work that was done and is done with, the longest first.
  std::vector<Line> lines() const;

 private:
  friend class TimedWork;

  struct Node {
    const char* work;
    Node* parent;
    Clock::duration total{};  // with the work within it
    std::int64_t times = 0;
    std::vector<std::unique_ptr<Node>> within = {};
  };

  static void add_lines(const Node& node, const std::string& prefix, std::vector<Line>& lines);
  void enter(const char* work);
  void leave(Clock::duration took);

  Node root_{.work = "", .parent = nullptr};
  Node* current_ = &root_;
};

/// Names the work that is done until the end of its scope; a literal, equal names are one kind. Costs a look at one
/// variable where nobody profiles.
class TimedWork {
 public:
  explicit TimedWork(const char* work);
  TimedWork(const TimedWork&) = delete;
  TimedWork& operator=(const TimedWork&) = delete;
  ~TimedWork();

 private:
  Profile* profile_;
  Profile::Clock::time_point begin_;
};

}  // namespace edgewise
