// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/profile.h"

#include <algorithm>
#include <string_view>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

thread_local Profile* profile_of_this_thread = nullptr;

}  // namespace

Profile::Profile() {
  check(profile_of_this_thread == nullptr, "Profile: this thread has a profile already, needs to have none");
  profile_of_this_thread = this;
}

Profile::~Profile() { profile_of_this_thread = nullptr; }

void Profile::enter(const char* work) {
  const auto is_same_work = [work](const auto& node) { return std::string_view(node->work) == work; };
  auto found = std::ranges::find_if(current_->children, is_same_work);
  if (found == current_->children.end()) {
    current_->children.push_back(std::make_unique<Node>(Node{.work = work, .parent = current_}));
    found = std::prev(current_->children.end());
  }
  current_ = found->get();
}

void Profile::leave(Clock::duration elapsed) {
  current_->total += elapsed;
  ++current_->count;
  current_ = current_->parent;
}

void Profile::add_lines(const Node& node, const std::string& prefix, std::vector<Line>& lines) {
  for (const auto& child : node.children) {
    Clock::duration self = child->total;
    for (const auto& grandchild : child->children) self -= grandchild->total;
    const std::string work = prefix + child->work;
    lines.push_back({work, std::chrono::duration<double>(self).count(), child->count});
    add_lines(*child, work + " / ", lines);
  }
}

std::vector<Profile::Line> Profile::lines() const {
  std::vector<Line> lines;
  add_lines(root_, "", lines);
  std::ranges::stable_sort(lines, std::ranges::greater(), &Line::seconds);
  return lines;
}

ScopedTimer::ScopedTimer(const char* work) : profile_(profile_of_this_thread) {
  if (profile_ == nullptr) return;
  profile_->enter(work);
  begin_ = Profile::Clock::now();
}

ScopedTimer::~ScopedTimer() {
  if (profile_ != nullptr) profile_->leave(Profile::Clock::now() - begin_);
}

}  // namespace edgewise
