// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <memory>

namespace edgewise::python {

/// A value whose threads belong to the process that made it. A forked process has no threads of its parent, and nothing
/// can join them there: it forgets the value and makes one of its own.
template <class Value>
class OfProcess {
 public:
  OfProcess() = default;
  OfProcess(const OfProcess&) = delete;
  OfProcess& operator=(const OfProcess&) = delete;
  ~OfProcess() { forget_if_forked(); }

  Value& get() {
    forget_if_forked();
    if (!value_) value_ = std::make_unique<Value>();
    return *value_;
  }

 private:
  void forget_if_forked() {
    if (process_ == getpid()) return;
    static_cast<void>(value_.release());
    process_ = getpid();
  }

  pid_t process_ = getpid();
  std::unique_ptr<Value> value_;
};

}  // namespace edgewise::python
