// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/line_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "edgewise/base/descriptor.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{200};

}  // namespace

LineOutput::LineOutput(const std::string& path, std::string_view caller)
    : caller_(caller), start_(std::chrono::steady_clock::now()), last_shown_(start_) {
  if (!path.empty()) file_ = std::make_unique<AtomicFile>(path, caller);
  is_live_ = isatty(STDERR_FILENO) == 1 && (file_ != nullptr || isatty(STDOUT_FILENO) == 0);
}

LineOutput::~LineOutput() { end_progress(); }

void LineOutput::write(std::string_view text) {
  ++sentences_;
  if (file_) {
    file_->write(text);
  } else {
    // Not through stdio, whose buffer ends anywhere.
    while (!text.empty()) {
      const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
      check(count >= 0 || errno == EINTR, "{}: standard output: {}", caller_, error_text(errno));
      if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  if (is_live_) show_progress();
}

void LineOutput::show_progress() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_shown_ < kRedrawInterval) return;
  last_shown_ = now;
  is_shown_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  // Back to the line's start; clear what is left of a longer one.
  fmt::print(stderr, "\r{} sentences, {:.1f} a second\x1b[K", sentences_, static_cast<double>(sentences_) / seconds);
}

void LineOutput::end_progress() {
  if (is_shown_) fmt::print(stderr, "\n");
  is_shown_ = false;
}

void LineOutput::finish() {
  if (file_) file_->commit();
  end_progress();
}

}  // namespace edgewise
