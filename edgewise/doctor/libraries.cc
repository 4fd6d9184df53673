// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/libraries.h"

#include <dnnl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <openssl/crypto.h>
#include <unicode/uversion.h>
#include <zlib.h>
#include <zstd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

namespace edgewise {
namespace {

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
