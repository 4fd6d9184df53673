// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/base/files/file_system.h"

namespace c10d {
class Store;
}

// The store through which processes find each other: its sockets, and the bytes in it.

namespace edgewise {

/// The two ends of a connection as numeric IP addresses.
struct ConnectionEnds {
  std::string here = {};
  std::string there = {};
};

/// Connects to the store once and closes the connection. Tries again until a process listens. Throws Error, which
/// begins with connect_processes, after the timeout.
ConnectionEnds reach_store(const std::string& address, int port, std::chrono::milliseconds timeout);

/// Opens a socket that listens at `port`: at the loopback address alone if `address` is one and `is_local`, otherwise
/// at all addresses of this machine, because another machine may have another address for the same host name. Throws
/// Error if another program has the port.
FileDescriptor listen_for_store(const std::string& address, int port, bool is_local);

/// Returns the address at which the other processes reach process `rank`, from each process's connection to the store.
/// The host name of process 0 often leads to 127.0.1.1 on its own machine, and to its address in the network elsewhere:
/// a process that reaches the store through the loopback interface is on the machine of the store, so it has the
/// address at which another machine reaches the store.
std::string address_of(std::int64_t rank, const std::vector<ConnectionEnds>& all);

/// Returns a TCP port of the loopback interface that no process uses at the moment. Throws Error if there is none.
int find_free_port();

struct StoreOptions {
  std::string address;
  int port = 0;
  std::string prefix;  // all keys have it
  std::chrono::milliseconds timeout;
  const FileDescriptor* listener = nullptr;  // the socket of a store that this process serves
};

/// Opens a store of bytes under keys that processes share, a TCPStore of c10d: one process or the launcher serves it,
/// and torchrun serves one of this protocol. This function and those of the store throw exceptions of c10d, and wait
/// forever if the server is stopped, or is a program of another protocol.
c10::intrusive_ptr<c10d::Store> open_store(const StoreOptions& options);

}  // namespace edgewise
