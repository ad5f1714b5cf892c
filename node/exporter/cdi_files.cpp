#include "node/exporter/cdi_files.hpp"

#include <algorithm>

#include "framework/base/log.hpp"
#include "node/exporter/settings_source.hpp"

namespace plimsoll::node {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargest = 8 << 20;

}  // namespace

std::shared_ptr<const std::set<std::string>> CdiFiles::read() {
  std::vector<Seen> now;
  for (const char* folder : {"etc/cdi", "var/run/cdi"}) {
    std::error_code error;
    for (fs::directory_iterator at(root_ / folder, error), end; !error && at != end;
         at.increment(error)) {
      const fs::path extension = at->path().extension();
      if (extension != ".json" && extension != ".yaml") continue;
      std::error_code gone;
      const bool is_file = at->is_regular_file(gone);
      const auto written = at->last_write_time(gone);
      const auto size = at->file_size(gone);
      if (is_file && !gone) now.emplace_back(at->path(), written, size);
    }
  }
  std::sort(now.begin(), now.end());
  if (now == seen_) return names_;
  seen_ = std::move(now);
  std::set<std::string> all;
  for (const auto& [path, written, size] : seen_) {
    Result<std::set<std::string>> names =
        fail(ErrorCode::kInvalid, path.string() + ": is larger than 8 MiB");
    if (size <= kLargest) names = cdi_names_from_file(path);
    if (names) {
      all.merge(*names);
    } else {
      log_warn("a CDI file names no device", {{"reason", names.error().message}});
    }
  }
  names_ = std::make_shared<const std::set<std::string>>(std::move(all));
  return names_;
}

}  // namespace plimsoll::node
