#include "informer/http/base64.hpp"

#include <openssl/evp.h>

#include <cctype>

namespace plimsoll::informer {
namespace {

using Byte = unsigned char;  // what OpenSSL takes

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // OpenSSL ends it with a null byte
  const int size =
      EVP_EncodeBlock(reinterpret_cast<Byte*>(out.data()),
                      reinterpret_cast<const Byte*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

Result<std::string> decode_base64(std::string_view text) {
  std::string digits;
  bool padding = false;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      padding = true;
      continue;
    }
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '+' && c != '/') {
      return fail(ErrorCode::kInvalid,
                  std::string("it holds the character '") + c + "', which is not part of base64");
    }
    if (padding) return fail(ErrorCode::kInvalid, "it goes on after its padding");
    digits += c;
  }
  if (digits.size() % 4 == 1) return fail(ErrorCode::kInvalid, "it is cut off");
  const std::size_t size = digits.size() * 3 / 4;
  digits.append((4 - digits.size() % 4) % 4, '=');
  std::string out(digits.size() / 4 * 3, '\0');
  EVP_DecodeBlock(reinterpret_cast<Byte*>(out.data()), reinterpret_cast<const Byte*>(digits.data()),
                  static_cast<int>(digits.size()));
  out.resize(size);
  return out;
}

}  // namespace plimsoll::informer
