#include "serving/self_signed.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>

#include "framework/base/log.hpp"
#include "serving/read_file.hpp"

namespace plimsoll::serving {
namespace {

namespace fs = std::filesystem;

constexpr long kHour = 3600;
constexpr long kYear = 365 * 24 * kHour;
constexpr int kKeyMode = 0600;
constexpr int kCertificateMode = 0644;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(std::max(size, 0L))};
}

Owned<X509> parse(const std::string& pem) {
  const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Owned<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate;
}

bool add_extension(X509& certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &certificate, &certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> made(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return made != nullptr && X509_add_ext(&certificate, made.get(), -1) == 1;
}

// Only what cannot mean anything else within the list of names.
bool is_host_name(const std::string& name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.'; };
  return !name.empty() && std::ranges::all_of(name, plain);
}

bool names_one_address(const std::string& address) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  const bool valid = inet_pton(AF_INET, address.c_str(), bytes.data()) == 1 ||
                     inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1;
  const auto is_set = [](unsigned char byte) { return byte != 0; };
  return valid && std::ranges::any_of(bytes, is_set);
}

std::string names(const std::string& address) {
  std::string list = "DNS:localhost,IP:127.0.0.1,IP:::1";
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0 && is_host_name(host.data())) {
    list += std::string(",DNS:") + host.data();
  }
  if (names_one_address(address)) list += ",IP:" + address;
  return list;
}

bool fill(X509& certificate, EVP_PKEY& key, const std::string& address) {
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
  X509_NAME* subject = X509_get_subject_name(&certificate);
  const auto* name = reinterpret_cast<const unsigned char*>("plimsoll");
  return X509_set_version(&certificate, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(&certificate), serial >> 1U) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(&certificate), -kHour) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(&certificate), kYear) != nullptr &&
         X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0) == 1 &&
         X509_set_issuer_name(&certificate, subject) == 1 &&
         X509_set_pubkey(&certificate, &key) == 1 &&
         add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(certificate, NID_key_usage, "critical,digitalSignature") &&
         add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
         add_extension(certificate, NID_subject_alt_name, names(address)) &&
         X509_sign(&certificate, &key, EVP_sha256()) != 0;
}

bool usable(const KeyPair& pair) {
  const Owned<X509> certificate = parse(pair.certificate_pem);
  const Owned<BIO> bio(
      BIO_new_mem_buf(pair.private_key_pem.data(), static_cast<int>(pair.private_key_pem.size())));
  const auto no_password = +[](char*, int, int, void*) { return -1; };
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  const bool belong = certificate != nullptr && key != nullptr &&
                      X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return belong &&
         certificate_end(pair.certificate_pem) > std::chrono::system_clock::now() + kRenewBefore;
}

// Under another name first, so that nobody reads half of it.
bool write_file(const fs::path& file, const std::string& text, int mode) {
  std::string fresh = file.string() + ".XXXXXX";
  const int descriptor = mkostemp(fresh.data(), O_CLOEXEC);  // for its owner only
  if (descriptor < 0) return false;
  const bool written =
      fchmod(descriptor, static_cast<mode_t>(mode)) == 0 &&
      write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = close(descriptor) == 0;
  if (written && closed && rename(fresh.c_str(), file.c_str()) == 0) return true;
  unlink(fresh.c_str());
  return false;
}

}  // namespace

std::chrono::system_clock::time_point certificate_end(const std::string& pem) {
  std::tm end{};
  const Owned<X509> certificate = parse(pem);
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) {
    return {};
  }
  return std::chrono::system_clock::from_time_t(timegm(&end));
}

Result<KeyPair> make_self_signed(const std::string& address) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> certificate(X509_new());
  const Owned<BIO> certificate_text(BIO_new(BIO_s_mem()));
  const Owned<BIO> key_text(BIO_new(BIO_s_mem()));
  if (key == nullptr || certificate == nullptr || certificate_text == nullptr ||
      key_text == nullptr || !fill(*certificate, *key, address) ||
      PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    ERR_clear_error();
    return fail(ErrorCode::kInternal,
                "OpenSSL could not make a self-signed certificate; give one with --tls-cert-file "
                "and --tls-private-key-file");
  }
  return KeyPair{text_of(certificate_text.get()), text_of(key_text.get())};
}

Result<KeyPair> kept_self_signed(const std::string& folder, const std::string& address) {
  const fs::path certificate = fs::path(folder) / "plimsoll.crt";
  const fs::path key = fs::path(folder) / "plimsoll.key";
  const auto old_certificate = read_file(certificate);
  const auto old_key = read_file(key);
  if (old_certificate && old_key) {
    KeyPair old{*old_certificate, *old_key};
    if (usable(old)) return old;
  }
  auto made = make_self_signed(address);
  if (!made) return made;
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  if (!write_file(key, made->private_key_pem, kKeyMode) ||
      !write_file(certificate, made->certificate_pem, kCertificateMode)) {
    return fail(ErrorCode::kInvalid,
                "--cert-dir " + folder + " cannot be written: " + std::strerror(errno) +
                    "; name a folder that this user may write, or leave it out to keep the "
                    "certificate in memory");
  }
  log_info("made a self-signed certificate", {{"file", certificate.string()}});
  return made;
}

}  // namespace plimsoll::serving
