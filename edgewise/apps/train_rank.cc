// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/train_rank.h"

#include <algorithm>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/distributed/connect.h"
#include "edgewise/distributed/launch/local_processes.h"

namespace edgewise {

void run_as_rank(const LaunchEnvironment& launched, std::chrono::duration<double> timeout, at::Device device,
                 const std::function<void(ProcessGroup&)>& train) {
  set_error_prefix(fmt::format("rank {}: ", launched.rank));
  ConnectOptions options;
  options.exchange_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  options.connect_timeout = std::min(options.connect_timeout, options.exchange_timeout);
  options.device = device;
  try {
    const std::unique_ptr<ProcessGroup> processes = connect_processes(launched, options);
    train(*processes);
  } catch (const CollectiveError&) {
    if (launched.rank > 0) throw EarlyExit(kUserErrorExitCode);
    set_error_prefix("");
    throw;
  } catch (const LostProcessError& error) {
    print_error("rank {}: {}\n", launched.rank, printable(error.what()));
    throw EarlyExit(kLostProcessExitCode);
  }
}

}  // namespace edgewise
