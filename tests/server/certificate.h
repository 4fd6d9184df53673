// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "edgewise/base/error.h"

namespace edgewise {

template <auto free_object>
struct OpenSslFree {
  template <class Object>
  void operator()(Object* object) const {
    free_object(object);
  }
};
using KeyPointer = std::unique_ptr<EVP_PKEY, OpenSslFree<EVP_PKEY_free>>;
using CertificatePointer = std::unique_ptr<X509, OpenSslFree<X509_free>>;

inline KeyPointer make_elliptic_key() { return KeyPointer(EVP_EC_gen("P-256")); }
inline KeyPointer make_rsa_key() { return KeyPointer(EVP_RSA_gen(2048)); }

/// Returns a certificate of `localhost`, which the key itself signs.
inline CertificatePointer make_certificate(EVP_PKEY* key) {
  constexpr long kSeconds = 3600;
  CertificatePointer certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kSeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kSeconds);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  const auto* host = reinterpret_cast<const unsigned char*>("localhost");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, host, -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  check(X509_sign(certificate.get(), key, EVP_sha256()) != 0, "the certificate cannot be signed");
  return certificate;
}

/// Calls `write` with a new file, and closes it.
template <class Write>
void write_pem(const std::string& path, Write write) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
  check(file != nullptr && write(file.get()) == 1, "{} cannot be written", path);
}

inline void write_certificate(const std::string& path, X509* certificate) {
  write_pem(path, [&](std::FILE* file) { return PEM_write_X509(file, certificate); });
}

/// Writes a private key, encrypted if there is a password.
inline void write_key(const std::string& path, EVP_PKEY* key, const std::string& password = "") {
  write_pem(path, [&](std::FILE* file) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(password.data());
    return PEM_write_PrivateKey(file, key, password.empty() ? nullptr : EVP_aes_128_cbc(), bytes,
                                static_cast<int>(password.size()), nullptr, nullptr);
  });
}

}  // namespace edgewise
