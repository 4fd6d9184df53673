// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/bench_profile.h"

#include "edgewise/apps/runtime/standard_streams.h"

namespace edgewise {

void print_profile(std::span<const Profile::Line> lines, double seconds) {
  double rest = seconds;
  for (const Profile::Line& line : lines) {
    print_output("  {:4.1f} %  {:8} times  {}\n", 100 * line.seconds / seconds, line.count, line.work);
    rest -= line.seconds;
  }
  print_output("  {:4.1f} %                  the rest\n", 100 * rest / seconds);
}

}  // namespace edgewise
