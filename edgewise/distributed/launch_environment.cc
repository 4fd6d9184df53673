// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/launch_environment.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "edgewise/base/crc32c.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

constexpr int kFirstPort = 20000;
constexpr int kNumPorts = 10000;
constexpr std::int64_t kMostProcesses = 1 << 20;

std::string need(const ReadVariable& read, const char* name) {
  const std::optional<std::string> value = read(name);
  check(value && !value->empty(), "read_launch_environment: {} is not set, needs a value as the launcher gives it",
        name);
  return *value;
}

std::int64_t need_number(const ReadVariable& read, const char* name, std::int64_t least, std::int64_t most) {
  const std::string text = need(read, name);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  check(error == std::errc() && end == text.data() + text.size() && number >= least && number <= most,
        "read_launch_environment: {} is {}, needs a number from {} to {}", name, text, least, most);
  return number;
}

std::int64_t read_restarts(const ReadVariable& read, const char* name) {
  return read(name) ? need_number(read, name, 0, std::numeric_limits<std::int64_t>::max()) : 0;
}

/// Reads rank and size. Returns nothing for a single process.
std::optional<LaunchEnvironment> read_place(const ReadVariable& read, const char* rank, const char* size) {
  LaunchEnvironment environment;
  environment.size = need_number(read, size, 1, kMostProcesses);
  environment.rank = need_number(read, rank, 0, environment.size - 1);
  if (environment.size == 1) return std::nullopt;
  return environment;
}

int read_port(const ReadVariable& read, const std::string& job) {
  if (read("MASTER_PORT")) return static_cast<int>(need_number(read, "MASTER_PORT", 1, 65535));
  return kFirstPort + static_cast<int>(crc32c(job) % kNumPorts);
}

/// Returns the first name of a list of Slurm, such as "node[03-05,9],other".
std::string first_node(const std::string& list) {
  const std::size_t end = list.find_first_of("[,");
  if (end == std::string::npos || list[end] == ',') return list.substr(0, end);
  const std::size_t number_end = list.find_first_of("-,]", end + 1);
  check(number_end != std::string::npos, "read_launch_environment: SLURM_STEP_NODELIST is {}, needs a list of machines",
        list);
  const std::size_t close = list.find(']', end);
  const std::size_t suffix_end = list.find_first_of("[,", close);
  const std::string suffix = close == std::string::npos ? "" : list.substr(close + 1, suffix_end - close - 1);
  return list.substr(0, end) + list.substr(end + 1, number_end - end - 1) + suffix;
}

std::optional<LaunchEnvironment> read_torchrun(const ReadVariable& read) {
  std::optional<LaunchEnvironment> environment = read_place(read, "RANK", "WORLD_SIZE");
  if (!environment) return environment;
  environment->address = need(read, "MASTER_ADDR");
  environment->port = static_cast<int>(need_number(read, "MASTER_PORT", 1, 65535));
  environment->has_store = read("TORCHELASTIC_USE_AGENT_STORE") == "True";
  environment->restarts = read_restarts(read, "TORCHELASTIC_RESTART_COUNT");
  environment->attempt = fmt::format("{}/{}", read("TORCHELASTIC_RUN_ID").value_or(""), environment->restarts);
  return environment;
}

std::optional<LaunchEnvironment> read_slurm(const ReadVariable& read) {
  std::optional<LaunchEnvironment> environment = read_place(read, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
  if (!environment) return environment;
  environment->address = read("MASTER_ADDR").value_or("");
  if (environment->address.empty()) environment->address = first_node(need(read, "SLURM_STEP_NODELIST"));
  const std::string job = need(read, "SLURM_JOB_ID");
  const std::string step = need(read, "SLURM_STEP_ID");
  environment->port = read_port(read, job + "." + step);
  environment->restarts = read_restarts(read, "SLURM_RESTART_COUNT");
  environment->attempt = job + "." + step;
  return environment;
}

std::optional<LaunchEnvironment> read_open_mpi(const ReadVariable& read) {
  std::optional<LaunchEnvironment> environment = read_place(read, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  if (!environment) return environment;
  environment->address = read("MASTER_ADDR").value_or("");
  if (environment->address.empty()) {
    check(need_number(read, "OMPI_COMM_WORLD_LOCAL_SIZE", 1, environment->size) == environment->size,
          "read_launch_environment: MASTER_ADDR is not set for processes of several machines, needs the address of the "
          "machine of rank 0; pass it by mpirun -x MASTER_ADDR=…");
    environment->address = "127.0.0.1";
  }
  const std::string job = read("PMIX_NAMESPACE").value_or(read("OMPI_MCA_ess_base_jobid").value_or(""));
  environment->port = read_port(read, job);
  environment->attempt = job;
  return environment;
}

}  // namespace

std::optional<std::string> read_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

std::optional<LaunchEnvironment> read_launch_environment(const ReadVariable& read) {
  if (read("RANK") || read("WORLD_SIZE")) return read_torchrun(read);
  // Within a job of Slurm, processes of mpirun also have the variables of the srun that started mpirun's helpers.
  if (read("OMPI_COMM_WORLD_RANK")) return read_open_mpi(read);
  if (read("SLURM_PROCID") && read("SLURM_STEP_ID") && read("SLURM_STEP_NUM_TASKS")) return read_slurm(read);
  return std::nullopt;
}

}  // namespace edgewise
