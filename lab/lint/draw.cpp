#include "lab/lint/draw.hpp"

#include <algorithm>
#include <iterator>

namespace plimsoll::lint {
namespace {

class Drawing {
 public:
  Drawing(Dice& dice, const Words& words, const Json& self)
      : dice_(dice), words_(words), self_(self) {}

  Json value(const Json& pattern) {
    if (pattern.is_string()) return of_text(pattern.get_ref<const std::string&>());
    if (pattern.is_array()) return list(pattern);
    return pattern.is_object() ? object(pattern) : pattern;
  }

 private:
  std::string one_of(const std::string& what) {
    if (what == "=") return its_value_;
    if (what.find('|') != std::string::npos) {
      std::vector<std::string> choices = {""};
      for (const char c : what) c == '|' ? choices.emplace_back() : choices.back() += c;
      return dice_.of(choices);
    }
    if (what[0] >= '0' && what[0] <= '9') {
      const size_t slash = what.find('/');
      const size_t low = std::stoul(what);
      const size_t high = std::stoul(what.substr(what.find('-') + 1));
      const size_t step = slash == std::string::npos ? 1 : std::stoul(what.substr(slash + 1));
      return std::to_string(low + step * dice_.below((high - low) / step + 1));
    }
    const std::string& word = dice_.of(words_.lists.at(what));
    const size_t equals = word.find('=');
    if (equals != std::string::npos) its_value_ = word.substr(equals + 1);
    return word.substr(0, equals);
  }

  std::string text(const std::string& pattern) {
    if (pattern.find('{') == std::string::npos) return pattern;
    std::string out;
    for (size_t at = 0; at < pattern.size();) {
      const size_t open = std::min(pattern.find('{', at), pattern.size());
      out += pattern.substr(at, open - at);
      if (open == pattern.size()) break;
      const size_t close = pattern.find('}', open);
      out += one_of(pattern.substr(open + 1, close - open - 1));
      at = close + 1;
    }
    return out;
  }

  Json of_text(const std::string& pattern) {
    if (pattern.starts_with('#')) return Json::parse(text(pattern.substr(1)));
    if (pattern.starts_with("=/"))
      return self_.value(Json::json_pointer(pattern.substr(1)), Json());
    if (pattern.starts_with("==")) return drawn_.at(pattern.substr(2));
    if (!pattern.starts_with('=')) return text(pattern);
    const std::string name = pattern.substr(1);
    Json part = value(words_.parts.at(name));
    return drawn_[name] = std::move(part);
  }

  // How often what is marked with "?2/3" or "*3" comes; takes the mark away.
  size_t times(std::string& marked) {
    const size_t mark = marked.find_first_of("?*");
    if (mark == std::string::npos) return 1;
    const bool many = marked[mark] == '*';
    const std::string odds = marked.substr(mark + 1);
    marked.erase(mark);
    if (many) return dice_.below(std::stoul(odds) + 1);
    const size_t slash = odds.find('/');
    if (slash == std::string::npos) return dice_.one_in(std::stoul(odds)) ? 1 : 0;
    return dice_.below(std::stoul(odds.substr(slash + 1))) < std::stoul(odds) ? 1 : 0;
  }

  Json list(const Json& pattern) {
    Json out = Json::array();
    for (const Json& entry : pattern) {
      std::string mark = entry.is_object() && entry.size() == 1 ? entry.begin().key() : "";
      const bool marked = mark.starts_with('?') || mark.starts_with('*');
      for (size_t left = marked ? times(mark) : 1; left > 0; --left) {
        Json drawn = value(marked ? *entry.begin() : entry);
        if (!drawn.is_null()) out.push_back(std::move(drawn));
      }
    }
    return out;
  }

  Json sum(const Json& patterns) {
    Json out;
    for (const Json& pattern : patterns) {
      Json more = value(pattern);
      if (out.is_object() && more.is_object()) {
        out.update(more);
      } else if (out.is_array() && more.is_array()) {
        out.insert(out.end(), more.begin(), more.end());
      } else if (!more.is_null()) {
        out = std::move(more);
      }
    }
    return out;
  }

  Json some(const Json& all, const std::string& most) {
    Json out = Json::object();
    for (size_t left = most.empty() ? 0 : 1 + dice_.below(std::stoul(most)); left > 0; --left) {
      const auto at = std::next(all.begin(), static_cast<std::ptrdiff_t>(dice_.below(all.size())));
      out[at.key()] = *at;
    }
    if (!most.empty()) return out;
    for (const auto& [key, entry] : all.items()) {
      if (dice_.one_in(2)) out[key] = entry;
    }
    return out;
  }

  Json object(const Json& pattern) {
    if (pattern.size() == 1) {
      const std::string& key = pattern.begin().key();
      const Json& what = *pattern.begin();
      if (key == "'") return what;
      if (key == "|") return value(dice_.of(what));
      if (key == "+") return sum(what);
      if (key.starts_with('~')) return some(value(what), key.substr(1));
    }
    Json out = Json::object();
    for (const auto& [marked, what] : pattern.items()) {
      std::string key = marked;
      if (key.starts_with('@')) {
        const size_t mark = key.find('?');
        const std::string odds = mark == std::string::npos ? "" : key.substr(mark);
        for (const std::string& word : words_.lists.at(key.substr(1, mark - 1))) {
          std::string each = odds;
          if (times(each) != 0) out[word] = value(what);
        }
        continue;
      }
      for (size_t left = times(key); left > 0; --left) {
        const std::string name = text(key);
        if (Json drawn = value(what); !drawn.is_null()) out[name] = std::move(drawn);
      }
    }
    return out;
  }

  Dice& dice_;
  const Words& words_;
  const Json& self_;
  std::string its_value_;
  std::map<std::string, Json> drawn_;
};

}  // namespace

Json draw(Dice& dice, const Json& pattern, const Words& words, const Json& self) {
  return Drawing(dice, words, self).value(pattern);
}

}  // namespace plimsoll::lint
