// SPDX-License-Identifier: Apache-2.0
#include "process_end.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace edgewise::python {
namespace {

namespace nb = nanobind;

struct RunningService {
  std::weak_ptr<void> service;
  std::function<void()> stop;
  pid_t process;  // a forked process has no threads of its parent's services
};

std::vector<RunningService>& running_services() {
  static std::vector<RunningService> services;
  return services;
}

std::atomic<bool> is_ending = false;

void stop_services() {
  is_ending = true;
  for (const RunningService& running : running_services()) {
    const std::shared_ptr<void> service = running.service.lock();
    if (service && running.process == getpid()) running.stop();
  }
}

}  // namespace

void stop_at_end(std::weak_ptr<void> service, std::function<void()> stop) {
  std::vector<RunningService>& services = running_services();
  std::erase_if(services, [](const RunningService& running) { return running.service.expired(); });
  services.push_back({std::move(service), std::move(stop), getpid()});
}

bool is_process_ending() { return is_ending; }

void wait_for_process_end() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

void bind_process_end() { nb::module_::import_("atexit").attr("register")(nb::cpp_function(&stop_services)); }

}  // namespace edgewise::python
