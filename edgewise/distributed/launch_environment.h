// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace edgewise {

/// The place of this process among the processes that a launcher started together.
struct LaunchEnvironment {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::string address;        // the machine of rank 0, or of the launcher's store
  int port = 0;               // the port of the store, by which the processes find each other
  bool has_store = false;     // whether the launcher serves the store; otherwise rank 0 does
  std::int64_t restarts = 0;  // how often the launcher has started the processes before
  std::string attempt;        // distinguishes the starts of one launcher, whose store may have keys of an earlier start
};

/// Returns the value of an environment variable.
using ReadVariable = std::function<std::optional<std::string>(const char* name)>;

std::optional<std::string> read_variable(const char* name);

/// Returns what a launcher says in the environment, or nothing if there is no launcher or this process is the only one:
///
/// - torchrun, and `edgewise train --processes`: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT;
/// - Open MPI's mpirun: OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE. MASTER_ADDR is needed for several machines;
///   without MASTER_PORT, a hash of the job's name gives a port from 20000 to 29999;
/// - Slurm's srun: SLURM_PROCID and SLURM_STEP_NUM_TASKS. Without MASTER_ADDR, rank 0 is on the first machine of
///   SLURM_STEP_NODELIST; without MASTER_PORT, a hash of job and step gives the port. A script of
///   sbatch itself has these variables too, but no step, and is no process of srun.
///
/// Throws Error, which names the variable, if one is missing or invalid.
std::optional<LaunchEnvironment> read_launch_environment(const ReadVariable& read = read_variable);

}  // namespace edgewise
