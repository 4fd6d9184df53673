// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "edgewise/base/error.h"

namespace edgewise {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
        "Sha256: libcrypto has no SHA-256, needs a build of it with one");
}

void Sha256::update(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

std::string Sha256::finish() {
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
  std::string digits;
  for (const unsigned char byte : digest) digits += fmt::format("{:02x}", byte);
  return digits;
}

std::string sha256(std::string_view bytes) {
  Sha256 sum;
  sum.update(bytes);
  return sum.finish();
}

}  // namespace edgewise
