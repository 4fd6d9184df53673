// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/launch_environment.h"

#include <cstdlib>
#include <limits>

#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::int64_t kMostProcesses = std::numeric_limits<int>::max();
constexpr std::int64_t kLastPort = 65535;

/// The variables of one launcher.
class Variables {
 public:
  /// `launcher_variable` is the variable that reveals the launcher.
  Variables(const ReadVariable& read, const char* launcher_variable)
      : read_(read), launcher_variable_(launcher_variable) {}

  std::optional<std::string> find(const char* name) const {
    std::optional<std::string> value = read_(name);
    if (value.has_value() && value->empty()) value.reset();
    return value;
  }

  bool is_set(const char* name) const { return find(name).has_value(); }

  /// Returns a variable that must be set; `needed` completes the sentence of the error.
  std::string text(const char* name, const std::string& needed) const {
    std::optional<std::string> value = find(name);
    check(value.has_value(), "read_launch_environment: {} is not set, needs {}, because {} is set", name, needed,
          launcher_variable_);
    return *value;
  }

  std::int64_t number(const char* name, std::int64_t first, std::int64_t last) const {
    const std::string needed = fmt::format("a whole number from {} to {}", first, last);
    const std::string value = text(name, needed);
    std::int64_t number = 0;
    const Range range = at_least(static_cast<double>(first)).at_most(static_cast<double>(last));
    check(parse_number(value, range, number), "read_launch_environment: {} is {}, needs {}", name,
          quote_unless_plain(value), needed);
    return number;
  }

  std::int64_t count_or_zero(const char* name) const {
    return is_set(name) ? number(name, 0, std::numeric_limits<int>::max()) : 0;
  }

  int port() const { return static_cast<int>(number("MASTER_PORT", 1, kLastPort)); }

  int port_or_derived(std::string_view job) const {
    if (is_set("MASTER_PORT")) return port();
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    return kFirstDerivedPort + static_cast<int>(hash % kDerivedPorts);
  }

 private:
  const ReadVariable& read_;
  const char* launcher_variable_;
};

LaunchEnvironment read_torchrun(const Variables& variables) {
  LaunchEnvironment launch;
  launch.size = variables.number("WORLD_SIZE", 1, kMostProcesses);
  if (launch.size == 1) return launch;
  launch.rank = variables.number("RANK", 0, launch.size - 1);
  if (variables.is_set("LOCAL_RANK") || variables.is_set("LOCAL_WORLD_SIZE")) {
    launch.local_size = variables.number("LOCAL_WORLD_SIZE", 1, launch.size);
    launch.local_rank = variables.number("LOCAL_RANK", 0, launch.local_size - 1);
  }
  launch.address = variables.text("MASTER_ADDR", "the host of process 0");
  launch.port = variables.port();
  launch.has_store = variables.find("TORCHELASTIC_USE_AGENT_STORE") == "True";
  launch.restarts = variables.count_or_zero("TORCHELASTIC_RESTART_COUNT");
  launch.attempt = fmt::format("{}.{}", variables.find("TORCHELASTIC_RUN_ID").value_or(""), launch.restarts);
  return launch;
}

LaunchEnvironment read_open_mpi(const Variables& variables) {
  LaunchEnvironment launch;
  launch.size = variables.number("OMPI_COMM_WORLD_SIZE", 1, kMostProcesses);
  if (launch.size == 1) return launch;
  launch.rank = variables.number("OMPI_COMM_WORLD_RANK", 0, launch.size - 1);
  launch.local_size = variables.number("OMPI_COMM_WORLD_LOCAL_SIZE", 1, launch.size);
  launch.local_rank = variables.number("OMPI_COMM_WORLD_LOCAL_RANK", 0, launch.local_size - 1);
  launch.address = kLoopback;
  if (launch.local_size < launch.size || variables.is_set("MASTER_ADDR")) {
    launch.address = variables.text(
        "MASTER_ADDR", "the host of process 0 (mpirun -x MASTER_ADDR=<host>) for processes on several machines");
  }
  // Open MPI 5 sets PMIX_NAMESPACE, and some builds of Open MPI 4 only their own variable.
  const std::optional<std::string> old_id = variables.find("OMPI_MCA_ess_base_jobid");
  const std::optional<std::string> id = variables.find("PMIX_NAMESPACE");
  if (id.has_value() || old_id.has_value()) {
    launch.attempt = id.has_value() ? *id : *old_id;
    launch.port = variables.port_or_derived(launch.attempt);
  } else {
    launch.port = variables.port();
  }
  return launch;
}

std::string slurm_address(const Variables& variables) {
  if (const std::optional<std::string> address = variables.find("MASTER_ADDR")) return *address;
  const char* name = variables.is_set("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  const std::string hosts = variables.text(name, "the machines of the step");
  const std::optional<std::string> host = first_host(hosts);
  check(host.has_value(),
        "read_launch_environment: {} is {}, needs a list such as node[01-04,07]; set MASTER_ADDR to the host of "
        "process 0",
        name, quote_unless_plain(hosts));
  return *host;
}

LaunchEnvironment read_slurm(const Variables& variables) {
  LaunchEnvironment launch;
  launch.size = variables.number("SLURM_STEP_NUM_TASKS", 1, kMostProcesses);
  if (launch.size == 1) return launch;
  launch.rank = variables.number("SLURM_PROCID", 0, launch.size - 1);
  const std::int64_t machine = variables.number("SLURM_NODEID", 0, launch.size - 1);
  const std::string tasks = variables.text("SLURM_STEP_TASKS_PER_NODE", "the number of processes of each machine");
  const std::optional<std::int64_t> local_size = tasks_of_machine(tasks, machine);
  check(local_size.has_value() && *local_size <= launch.size,
        "read_launch_environment: SLURM_STEP_TASKS_PER_NODE is {}, needs a list such as 4(x2),3 with machine {}",
        quote_unless_plain(tasks), machine);
  launch.local_size = *local_size;
  launch.local_rank = variables.number("SLURM_LOCALID", 0, launch.local_size - 1);
  // SLURM_LAUNCH_NODE_IPADDR is the address of srun, which may run on a login node.
  launch.address = slurm_address(variables);
  launch.restarts = variables.count_or_zero("SLURM_RESTART_COUNT");
  launch.attempt = fmt::format("{}.{}", variables.text("SLURM_JOB_ID", "the id of the job"),
                               variables.text("SLURM_STEP_ID", "the id of the step"));
  launch.port = variables.port_or_derived(launch.attempt);
  return launch;
}

LaunchEnvironment read_any(const ReadVariable& read) {
  constexpr const char* kTorchrun = "RANK";
  constexpr const char* kOpenMpi = "OMPI_COMM_WORLD_SIZE";
  constexpr const char* kSlurm = "SLURM_STEP_NUM_TASKS";
  if (const Variables variables(read, kTorchrun); variables.is_set(kTorchrun)) return read_torchrun(variables);
  if (const Variables variables(read, kOpenMpi); variables.is_set(kOpenMpi)) return read_open_mpi(variables);
  if (const Variables variables(read, kSlurm); variables.is_set(kSlurm)) return read_slurm(variables);
  // Last, because scripts for srun often export WORLD_SIZE.
  if (const Variables variables(read, "WORLD_SIZE"); variables.is_set("WORLD_SIZE")) return read_torchrun(variables);
  return {};
}

/// Removes the text before the first character of `ends`, or all of the text, from `text`, and returns it.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::string_view taken = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(taken.size());
  return taken;
}

}  // namespace

std::optional<std::string> read_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<LaunchEnvironment> read_launch_environment(const ReadVariable& read) {
  const LaunchEnvironment launch = read_any(read);
  return launch.size > 1 ? std::optional(launch) : std::nullopt;
}

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
