// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// Measures where a thread spends its time:
//
//     Profile profile;
//     train();                                    // inside, for example: const ScopedTimer timer("attention");
//     for (const Profile::Line& line : profile.lines()) …

namespace edgewise {

/// Sums the times of each kind of work that a ScopedTimer names, in the thread that created the profile and until the
/// profile's scope ends. A thread has at most one profile at a time.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  struct Line {
    std::string work;        // "loss / products": the products inside the loss
    double seconds = 0.0;    // self time: without inner work that has its own line
    std::int64_t count = 0;  // number of timers that ended
  };

  Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  ~Profile();

  /// Returns a line for each kind of finished work, the longest time first.
  std::vector<Line> lines() const;

 private:
  friend class ScopedTimer;

  struct Node {
    const char* work;
    Node* parent;
    Clock::duration total{};  // includes inner work
    std::int64_t count = 0;
    std::vector<std::unique_ptr<Node>> children = {};
  };

  static void add_lines(const Node& node, const std::string& prefix, std::vector<Line>& lines);
  void enter(const char* work);
  void leave(Clock::duration elapsed);

  Node root_{.work = "", .parent = nullptr};
  Node* current_ = &root_;
};

/// Adds the time until the end of its scope to the thread's Profile, if any. `work` names the kind of work and must be
/// a string literal; equal texts are one kind. Without a profile the cost is one read of a thread-local variable.
class ScopedTimer {
 public:
  explicit ScopedTimer(const char* work);
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;
  ~ScopedTimer();

 private:
  Profile* profile_;
  Profile::Clock::time_point begin_;
};

}  // namespace edgewise
