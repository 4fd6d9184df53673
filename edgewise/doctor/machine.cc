// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/machine.h"

#include <dnnl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <openssl/crypto.h>
#include <sys/utsname.h>
#include <unicode/uversion.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "edgewise/base/ascii.h"
#include "edgewise/base/cgroup.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/processor_set.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/gemm/panels.h"
#include "edgewise/kernels/gemm/row_product.h"
#include "edgewise/kernels/simd/instruction_set.h"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

namespace edgewise {
namespace {

using Properties = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 24> kInstructions = {
    "sse4_1",   "sse4_2",   "avx",      "f16c",        "fma",         "avx2",        "avx_vnni", "avx512f",
    "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16",
    "amx_int8", "asimd",    "asimdhp",  "asimddp",     "i8mm",        "bf16",        "sve",      "sve2"};

/// Reads lines such as "model name : AMD EPYC" up to the first empty line.
Properties read_properties(const std::filesystem::path& path) {
  std::ifstream file(path);
  Properties properties;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view text = line;
    properties.emplace(trim_ascii(text.substr(0, colon)), trim_ascii(text.substr(colon + 1)));
  }
  return properties;
}

/// Returns the first of the properties that the map has, or "".
std::string first_of(const Properties& properties, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto found = properties.find(name); found != properties.end()) return found->second;
  }
  return "";
}

std::string architecture() {
  struct utsname names {};
  return ::uname(&names) == 0 ? names.machine : "unknown";
}

/// Returns the name of a processor, with the numbers by which errata and benchmarks name it.
std::string processor_name(const Properties& processor) {
  std::string name = first_of(processor, {"model name", "Model", "cpu"});
  if (name.empty()) name = architecture();
  if (processor.contains("cpu family")) {
    return fmt::format("{} (family {}, model {}, stepping {})", name, processor.at("cpu family"),
                       first_of(processor, {"model"}), first_of(processor, {"stepping"}));
  }
  if (processor.contains("CPU part")) {
    return fmt::format("{} (implementer {}, part {})", name, first_of(processor, {"CPU implementer"}),
                       processor.at("CPU part"));
  }
  return name;
}

std::vector<std::string> known_instructions(const std::string& flags) {
  std::istringstream words(flags);
  std::set<std::string, std::less<>> all;
  for (std::string word; words >> word;) all.insert(word);
  std::vector<std::string> known;
  for (const std::string_view name : kInstructions) {
    if (all.contains(name)) known.emplace_back(name);
  }
  return known;
}

/// Reads a text such as "24684092 kB"; 0 for another text.
std::int64_t bytes_of(const std::string& text) {
  std::istringstream words(text);
  std::int64_t kibibytes = 0;
  words >> kibibytes;
  return kibibytes * 1024;
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

std::string icu_version() {
  UVersionInfo version;
  char text[U_MAX_VERSION_STRING_LENGTH];
  u_getVersion(version);
  u_versionToString(version, text);
  return text;
}

}  // namespace

KernelChoice choose_kernels() {
  KernelChoice choice;
  choice.instruction_set = kernels::instruction_set_name(kernels::instruction_set());
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    choice.runnable.emplace_back(kernels::instruction_set_name(set));
  }
  choice.is_forced = kernels::named_instruction_set().has_value();
  choice.onednn = kernels::onednn::instructions();
  choice.has_fast_bf16_translation = kernels::has_fast_bf16_row_products();
  choice.has_fast_bf16_training = kernels::has_native_bf16();
  choice.has_fast_int8 = kernels::choose_panel_format<std::int8_t>() == kernels::PanelFormat::kAvx512;
  return choice;
}

Machine examine_machine(const std::string& root) {
  const Properties processor = read_properties(std::filesystem::path(root) / "proc/cpuinfo");
  const Properties memory = read_properties(std::filesystem::path(root) / "proc/meminfo");
  return {.processor = processor_name(processor),
          .instructions = known_instructions(first_of(processor, {"flags", "Features"})),
          .cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
          .allowed_cores = ProcessorSet::of_this_thread().size(),
          .quota_cores = cgroup_cores(root),
          .memory = bytes_of(first_of(memory, {"MemTotal"})),
          .available_memory = available_memory(root),
          .group_memory = cgroup_memory(root)};
}

std::vector<LibraryVersion> library_versions() {
  std::vector<LibraryVersion> versions = {
      {"oneDNN", onednn_version()},
      {"ICU", icu_version()},
      {"OpenSSL", OpenSSL_version(OPENSSL_FULL_VERSION_STRING)},
      {"zlib", zlibVersion()},
      {"liblzma", lzma_version_string()},
      {"zstd", ZSTD_versionString()},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)}};
  for (const auto& [name, version] : {LibraryVersion{"Highway", EDGEWISE_HIGHWAY_VERSION},
                                      LibraryVersion{"SentencePiece", EDGEWISE_SENTENCEPIECE_VERSION}}) {
    if (!version.empty()) versions.push_back({name, version});
  }
#ifdef __GLIBC__
  versions.push_back({"glibc", gnu_get_libc_version()});
#endif
  return versions;
}

}  // namespace edgewise
