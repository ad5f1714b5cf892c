#include "node/devices/sys_tree.hpp"

#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <fstream>

namespace plimsoll::node {

namespace fs = std::filesystem;

std::string plain_text(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::optional<std::string> sys_text(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::symlink_status(path, error).type();
  if (type == fs::file_type::not_found) return std::nullopt;
  if (type == fs::file_type::symlink)
    return plain_text(fs::read_symlink(path, error).filename().string());
  if (type == fs::file_type::directory) return plain_text(path.filename().string());
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  line.erase(std::find_if(line.rbegin(), line.rend(), [](char c) { return c != ' '; }).base(),
             line.end());
  return plain_text(std::move(line));
}

std::vector<fs::path> sys_paths(const fs::path& folder, const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) return {folder / pattern};
  glob_t found{};
  std::vector<fs::path> paths;
  if (glob((folder / pattern).c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

bool matches_any(std::string_view patterns, const std::string& text) {
  for (;;) {
    const std::size_t end = std::min(patterns.find('|'), patterns.size());
    if (fnmatch(std::string(patterns.substr(0, end)).c_str(), text.c_str(), 0) == 0) return true;
    if (end == patterns.size()) return false;
    patterns.remove_prefix(end + 1);
  }
}

std::string pci_address(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text.find(':') == 8 && text.starts_with("0000")) text.erase(0, 4);
  return text;
}

bool is_pci_address(const std::string& name) {
  const std::size_t domain = name.find_first_not_of("0123456789abcdef");  // its length
  return domain != 0 && domain != std::string::npos &&
         matches_any(":[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f].[0-7]", name.substr(domain));
}

PciTree::PciTree(const fs::path& sys) {
  std::error_code error;
  for (const fs::path& link : fs::directory_iterator(sys / "bus/pci/devices", error)) {
    // ../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0
    std::vector<std::string>& chain = chains_[link.filename()];
    for (const fs::path& part : fs::read_symlink(link, error)) {
      if (!chain.empty() || part.native().starts_with("pci")) chain.push_back(part);
    }
    for (std::size_t i = 2; i + 2 < chain.size(); ++i) ports_[chain[i]].insert(chain[i + 1]);
  }
}

std::string PciTree::pcie_id(const std::string& address) const {
  const auto found = chains_.find(address);
  if (found == chains_.end() || found->second.empty()) return {};
  const std::vector<std::string>& chain = found->second;
  for (std::size_t i = 2; i + 2 < chain.size(); ++i) {
    if (ports_.at(chain[i]).size() > 1) return chain[i];
  }
  return chain.front();
}

}  // namespace plimsoll::node
