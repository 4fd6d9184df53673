// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace edgewise {

/// SHA-256 (FIPS 180-4) of bytes that update() receives part by part.
class Sha256 {
 public:
  Sha256();

  void update(std::string_view bytes);

  /// Returns 64 lower-case hexadecimal digits. Call it last, once.
  std::string finish();

 private:
  std::shared_ptr<evp_md_ctx_st> context_;
};

std::string sha256(std::string_view bytes);

}  // namespace edgewise
