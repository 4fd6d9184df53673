// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace edgewise {

/// The place of this process among the processes that a launcher started, and the address of their store.
struct LaunchEnvironment {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::int64_t local_rank = 0;  // among the processes on the same machine
  std::int64_t local_size = 1;
  std::string address;        // host name or IP address of the process that serves the store
  int port = 0;               // TCP port of the store
  bool has_store = false;     // whether the launcher serves the store; otherwise process 0 does
  std::int64_t restarts = 0;  // how often the launcher has started these processes before
  std::string attempt;        // differs between the runs that may use one store; a prefix of their keys
};

/// Without MASTER_PORT, the store of Slurm and Open MPI has a port from kFirstDerivedPort on, one of kDerivedPorts. The
/// port is a hash of the id of the job and of its step, so all processes know the port, and two jobs on one machine
/// rarely have the same. Linux gives these ports to no outgoing connection by default.
inline constexpr int kFirstDerivedPort = 20000;
inline constexpr int kDerivedPorts = 10000;

using ReadVariable = std::function<std::optional<std::string>(const char* name)>;

/// Returns a variable of this process's environment.
std::optional<std::string> read_variable(const char* name);

/// Returns what the launcher set in the environment, or nothing if no launcher started this process, or started it
/// alone. An empty variable counts as unset. Throws Error, which names a variable, if some of the launcher's variables
/// are missing or invalid. The first launcher below that set its first variable is the launcher:
///
/// - torchrun and others with its contract: RANK WORLD_SIZE MASTER_ADDR MASTER_PORT, and LOCAL_RANK LOCAL_WORLD_SIZE,
///   which may both be missing. With TORCHELASTIC_USE_AGENT_STORE=True, torchrun itself serves the store.
/// - mpirun of Open MPI: OMPI_COMM_WORLD_SIZE, _RANK, _LOCAL_RANK, _LOCAL_SIZE. Processes on several machines need
///   MASTER_ADDR. Open MPI comes before Slurm, because processes that mpirun starts on other machines of a job inherit
///   the variables of a step of Slurm that has other tasks.
/// - srun of Slurm: SLURM_STEP_NUM_TASKS SLURM_PROCID SLURM_LOCALID SLURM_NODEID SLURM_STEP_TASKS_PER_NODE. A batch
///   script has SLURM_PROCID=0 and SLURM_NTASKS too, but only srun sets variables of a step. Without MASTER_ADDR,
///   process 0 is expected on the first machine of SLURM_STEP_NODELIST, which every --distribution but arbitrary does.
///
/// torchrun and Slurm count restarts (TORCHELASTIC_RESTART_COUNT, SLURM_RESTART_COUNT).
std::optional<LaunchEnvironment> read_launch_environment(const ReadVariable& read = read_variable);

/// Returns the first host of a list of Slurm such as "node[01-04,07],x", here "node01"; nothing if the list has another
/// form.
std::optional<std::string> first_host(std::string_view hosts);

/// Returns the number of tasks of machine `machine`, from 0 on, of a list of Slurm such as "4(x2),3"; nothing if the
/// list has no such machine or another form.
std::optional<std::int64_t> tasks_of_machine(std::string_view tasks, std::int64_t machine);

}  // namespace edgewise
