// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/port_owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include "edgewise/base/config/fields.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kListening = "0A";  // state of a socket in /proc/net/tcp

/// Adds the names that /proc/PID/fd has for the sockets that listen on a port.
void add_sockets(const char* table, std::uint16_t port, std::set<std::string>& sockets) {
  std::ifstream file(table);
  const std::string ending = fmt::format(":{:04X}", port);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
    fields >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >> inode;
    if (state == kListening && local.ends_with(ending)) sockets.insert(fmt::format("socket:[{}]", inode));
  }
}

bool has_socket(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  for (fs::directory_iterator entry(process / "fd", error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (sockets.contains(fs::read_symlink(entry->path(), ignored).string())) return true;
  }
  return false;
}

}  // namespace

std::optional<PortOwner> find_port_owner(std::uint16_t port) {
  std::set<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) add_sockets(table, port, sockets);
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    std::int64_t process = 0;
    const bool is_process = parse_number(entry->path().filename().string(), at_least(1), process);
    if (!is_process || !has_socket(entry->path(), sockets)) continue;
    std::string name;
    std::getline(std::ifstream(entry->path() / "comm"), name);
    return PortOwner{process, name};
  }
  return std::nullopt;
}

}  // namespace edgewise
