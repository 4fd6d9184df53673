// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgewise {

/// The kernels that this process uses.
struct KernelChoice {
  std::string instruction_set;             // the set in use
  std::vector<std::string> runnable;       // all sets that this machine can run; the last one is the best
  bool is_forced = false;                  // whether EDGEWISE_KERNELS names the set in use
  std::string onednn;                      // the best instructions that oneDNN uses
  bool has_fast_bf16_translation = false;  // whether bf16 products of translating use bf16 instructions
  bool has_fast_bf16_training = false;     // whether bf16 products of training use bf16 instructions
  bool has_fast_int8 = false;              // whether int8 products use instructions that add four products
};

/// Throws Error if EDGEWISE_KERNELS names no set that this machine can run.
KernelChoice choose_kernels();

/// The processor and memory of a machine, and the part of them that this process may use.
struct Machine {
  std::string processor;
  std::vector<std::string> instructions;     // extensions that matter to products, as Linux names them
  int cores = 0;                             // logical processors of the machine
  int allowed_cores = 0;                     // processors in the affinity mask of this thread
  std::optional<int> quota_cores;            // CPU quota of the control group, rounded up
  std::int64_t memory = 0;                   // bytes; 0 if the system does not tell
  std::int64_t available_memory = 0;         // bytes that this process can still allocate
  std::optional<std::int64_t> group_memory;  // bytes that the control group can still use
};

/// Examines this machine. `root` is the folder with proc/ and sys/.
Machine examine_machine(const std::string& root = "/");

struct LibraryVersion {
  std::string name;
  std::string version;
};

/// Returns the versions of the libraries that translating uses: of the loaded library where it tells its version, else
/// of the one that the build found.
std::vector<LibraryVersion> library_versions();

}  // namespace edgewise
