// Plimsoll plugin SDK, for unit tests: interned texts, and reasons.
#pragma once

#include <plimsoll/join.hpp>
#include <plimsoll/views.hpp>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::sdk {

class FakeNames {
 public:
  plimsoll_str intern(std::string_view text) {
    const auto next = static_cast<plimsoll_symbol>(symbols_.size() + 5);
    const auto& [known, symbol] = *symbols_.try_emplace(std::string(text), next).first;
    return {known.data(), static_cast<uint32_t>(known.size()), symbol};
  }

  // The id of a list of texts.
  uint32_t reason(std::span<const plimsoll_str> texts) {
    std::vector<std::string> list;
    for (const plimsoll_str& text : texts) list.emplace_back(view(text));
    const auto found = std::find(reasons_.begin() + 1, reasons_.end(), list);
    const auto id = static_cast<uint32_t>(found - reasons_.begin());
    if (found == reasons_.end()) reasons_.push_back(std::move(list));
    return id;
  }
  // Valid until the next call on this thread; empty for an unknown id.
  [[nodiscard]] plimsoll_list reason_texts(uint32_t id) const {
    static thread_local std::vector<plimsoll_str> texts;
    texts.clear();
    if (id < reasons_.size()) {
      for (const std::string& text : reasons_[id]) texts.push_back(str(text));
    }
    return list_of<plimsoll_str>(texts);
  }
  // The same, joined by ", ".
  [[nodiscard]] std::string reasons(uint32_t id) const { return join(reasons_.at(id)); }

 private:
  std::map<std::string, plimsoll_symbol> symbols_;
  std::vector<std::vector<std::string>> reasons_{{}};  // by id; 0 is none
};

}  // namespace plimsoll::sdk
