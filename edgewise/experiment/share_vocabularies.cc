// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/share_vocabularies.h"

#include <map>
#include <string>
#include <vector>

#include "edgewise/distributed/agreement.h"
#include "edgewise/distributed/packed_strings.h"

namespace edgewise {

Vocabularies share_vocabularies(ProcessGroup& processes, bool is_shared, const std::function<Vocabularies()>& make) {
  Vocabularies vocabularies;
  on_first_process(processes, [&] { vocabularies = make(); });
  if (processes.size() == 1) return vocabularies;
  std::vector<std::string> strings;  // a name, the bytes of its file, the next name, …
  if (processes.rank() == 0) {
    for (const auto& [name, bytes] : vocabulary_files(vocabularies, is_shared)) {
      strings.push_back(name);
      strings.push_back(bytes);
    }
  }
  strings = unpack_strings(broadcast_bytes(processes, pack_strings(strings)));
  if (processes.rank() == 0) return vocabularies;
  std::map<std::string, std::string> files;
  for (std::size_t i = 0; i + 1 < strings.size(); i += 2) files[strings[i]] = strings[i + 1];
  return parse_vocabularies(files, is_shared, "process 0", "train");
}

}  // namespace edgewise
