#include "ui/page.hpp"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>

namespace plimsoll::ui {

namespace {

#include "page_files.inc"  // kIndex, kStyle, kScript: the build makes it

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
    "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

constexpr std::string_view kDataBegins = "<script type=\"application/json\" id=\"data\">";

// Besides the policy.
const std::vector<std::pair<std::string, std::string>> kGuards{
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"}};

std::string text(std::span<const unsigned char> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// As a policy names an inline script or style.
std::string source_of(std::string_view content) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), content.size(), hash.data());
  std::array<unsigned char, 64> base64{};
  const int size = EVP_EncodeBlock(base64.data(), hash.data(), hash.size());
  return "'sha256-" + text(std::span(base64).first(static_cast<std::size_t>(size))) + "'";
}

void replace(std::string& page, std::string_view place, std::string_view by) {
  const std::size_t at = page.find(place);
  if (at == std::string::npos) throw std::logic_error("the page has no " + std::string(place));
  page.replace(at, place.size(), by);
}

}  // namespace

const std::vector<std::string>& names() {
  static const std::vector<std::string> kNames{"", "app.js", "style.css"};
  return kNames;
}

serving::Response file(std::string_view name) {
  serving::Response out;
  if (name.empty()) {
    out = {200, text(kIndex), "text/html; charset=utf-8"};
  } else if (name == "app.js") {
    out = {200, text(kScript), "text/javascript; charset=utf-8"};
  } else if (name == "style.css") {
    out = {200, text(kStyle), "text/css; charset=utf-8"};
  } else {
    return {404, "the page has no such file\n"};
  }
  out.headers = kGuards;
  out.headers.emplace_back("Content-Security-Policy", kPolicy);
  return out;
}

std::optional<std::string_view> data_of(std::string_view page) {
  const std::size_t at = page.find(kDataBegins);
  if (at == std::string_view::npos) return std::nullopt;
  page.remove_prefix(at + kDataBegins.size());
  return page.substr(0, page.find('<'));
}

serving::Response single_file_answer(std::string_view json) {
  return {200, single_file(json), "text/html; charset=utf-8", kGuards};  // its policy is in it
}

std::string single_file(std::string_view json) {
  const std::string script = text(kScript);
  const std::string style = text(kStyle);
  // In JSON, '<' stands in texts only.
  std::string data;
  for (const char c : json) data += c == '<' ? "\\u003c" : std::string(1, c);
  std::string page = text(kIndex);
  const std::string policy = "default-src 'none'; script-src " + source_of(script) +
                             "; style-src " + source_of(style) +
                             "; img-src data:; base-uri 'none'; form-action 'none'";
  replace(page, "<meta charset=\"utf-8\">",
          "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"" +
              policy + "\">");
  replace(page, "<link rel=\"stylesheet\" href=\"style.css\">", "<style>" + style + "</style>");
  replace(page, "<script src=\"app.js\" defer></script>",
          std::string(kDataBegins) + data + "</script>\n<script>" + script + "</script>");
  return page;
}

}  // namespace plimsoll::ui
