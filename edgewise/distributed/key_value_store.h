// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/base/files/file_system.h"

namespace c10d {
class Store;
}

namespace edgewise {

struct KeyValueStoreOptions {
  std::string address;
  int port = 0;
  std::string prefix;  // all keys have it
  std::chrono::milliseconds timeout;
  const FileDescriptor* listener = nullptr;  // the socket of a store that this process serves
};

/// Bytes under keys that processes share, in a TCPStore of c10d: one process or the launcher serves the store, and
/// torchrun serves one of this protocol. The functions throw exceptions of c10d, and wait forever if the server is
/// stopped, or is a program of another protocol.
class KeyValueStore {
 public:
  explicit KeyValueStore(const KeyValueStoreOptions& options);
  KeyValueStore(const KeyValueStore&) = delete;
  KeyValueStore& operator=(const KeyValueStore&) = delete;
  ~KeyValueStore();

  void set(const std::string& key, const std::string& value);
  std::string get(const std::string& key);
  bool has(const std::vector<std::string>& keys);  // all of them

  /// Adds 1 to the number under the key, which is 0 at first, and returns it.
  std::int64_t count(const std::string& key);

  c10d::Store& c10d_store() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Keeps c10d and Gloo from writing on standard error what they also throw: stack traces, and failed connections.
/// Switches off the log of libtorch, and sets the environment variable GLOO_DISABLE_CONNECTION_RETRIES, because Gloo
/// logs a connection that it retries whatever its log level is. Changes nothing if the user chose a level with
/// TORCH_CPP_LOG_LEVEL. Call it before the first use of Gloo.
void silence_torch_log();

}  // namespace edgewise
