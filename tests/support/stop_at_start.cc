// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD. Stops the program before main, while its libraries start.
#include <csignal>

namespace {
[[gnu::constructor]] void stop_at_start() { std::raise(SIGSTOP); }
}  // namespace
