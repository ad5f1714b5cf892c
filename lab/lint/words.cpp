#include "lab/lint/words.hpp"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace plimsoll::lint {
namespace {

constexpr size_t kShortest = 2;
constexpr size_t kLongest = 120;
constexpr size_t kMost = 2000;

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 63 && is_alnum(text.front()) && is_alnum(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

template <typename T>
std::optional<T> read_at(std::string_view file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

// The sections with data that is neither code nor written to.
std::vector<std::string_view> constant_sections(std::string_view file) {
  std::vector<std::string_view> sections;
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return sections;
  }
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = read_at<Elf64_Shdr>(file, header->e_shoff + i * header->e_shentsize);
    if (!section) break;
    const bool constant = section->sh_type == SHT_PROGBITS &&
                          (section->sh_flags & SHF_ALLOC) != 0 &&
                          (section->sh_flags & (SHF_WRITE | SHF_EXECINSTR)) == 0;
    if (!constant || section->sh_offset > file.size() ||
        section->sh_size > file.size() - section->sh_offset) {
      continue;
    }
    sections.push_back(file.substr(section->sh_offset, section->sh_size));
  }
  return sections;
}

// `"seats":` is what a plugin looks for that reads JSON by itself.
std::string_view out_of_quotes(std::string_view text) {
  if (!text.starts_with('"')) return text;
  return text.substr(1, text.find('"', 1) - 1);
}

}  // namespace

bool is_label_key(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_name(text);
  const std::string_view domain = text.substr(0, slash);
  return domain.size() <= 253 && domain.find('.') != std::string_view::npos &&
         std::all_of(domain.begin(), domain.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '.'; }) &&
         is_name(text.substr(slash + 1));
}

Result<std::vector<std::string>> words_in_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(ErrorCode::kNotFound, path.string() + ": cannot be read");
  std::ostringstream content;
  content << stream.rdbuf();
  const std::string file = std::move(content).str();
  std::vector<std::string> words;
  for (const std::string_view section : constant_sections(file)) {
    for (size_t at = 0; at < section.size();) {
      const size_t end = std::min(section.find('\0', at), section.size());
      const std::string_view text = out_of_quotes(section.substr(at, end - at));
      if (text.size() >= kShortest && text.size() <= kLongest && is_label_key(text)) {
        words.emplace_back(text);
      }
      at = end + 1;
    }
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  if (words.size() > kMost) words.resize(kMost);
  return words;
}

}  // namespace plimsoll::lint
