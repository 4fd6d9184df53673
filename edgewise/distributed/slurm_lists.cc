// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/slurm_lists.h"

#include "edgewise/base/config/fields.h"

namespace edgewise {
namespace {

/// Removes the text before the first character of `ends`, or all of the text, from `text`, and returns it.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::string_view taken = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(taken.size());
  return taken;
}

}  // namespace

std::optional<std::string> first_host(std::string_view hosts) {
  std::string host(take_until(hosts, "[],"));
  while (hosts.starts_with('[')) {  // a name may have several brackets: "rack[1-2]node[1-8]"
    hosts.remove_prefix(1);
    const std::string_view first = take_until(hosts, "[]-,");
    const std::size_t end = hosts.find_first_of("[]");
    if (first.empty() || end == std::string_view::npos || hosts[end] != ']') return std::nullopt;
    hosts.remove_prefix(end + 1);
    host += first;
    host += take_until(hosts, "[],");
  }
  if (host.empty() || hosts.starts_with(']')) return std::nullopt;
  return host;
}

std::optional<std::int64_t> tasks_of_machine(std::string_view tasks, std::int64_t machine) {
  while (!tasks.empty()) {
    std::string_view entry = take_until(tasks, ",");
    if (!tasks.empty()) tasks.remove_prefix(1);
    std::int64_t count = 0;
    std::int64_t machines = 1;
    if (!parse_number(take_until(entry, "("), at_least(1), count)) return std::nullopt;
    if (!entry.empty()) {
      if (!entry.starts_with("(x") || !entry.ends_with(')')) return std::nullopt;
      if (!parse_number(entry.substr(2, entry.size() - 3), at_least(1), machines)) return std::nullopt;
    }
    if (machine < machines) return count;
    machine -= machines;
  }
  return std::nullopt;
}

}  // namespace edgewise
