#pragma once
// Label and field selectors of a list or watch request.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/sandbox/store/api_status.hpp"

namespace plimsoll::sandbox {

using Fields = std::vector<std::pair<std::string, std::string>>;  // sorted by name

// "a=b,c!=d,e in (x,y),f notin (z),g,!h": labels.Parse of apimachinery.
class LabelSelector {
 public:
  [[nodiscard]] static ApiResult<LabelSelector> parse(std::string_view text);
  [[nodiscard]] bool matches(const Fields& labels) const;
  [[nodiscard]] bool empty() const { return terms_.empty(); }

 private:
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  struct Term {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;
  };
  [[nodiscard]] static ApiResult<Term> parse_term(std::string_view text);
  std::vector<Term> terms_;
};

// "spec.nodeName=,status.phase!=Succeeded": fields.ParseSelector of apimachinery.
class FieldSelector {
 public:
  [[nodiscard]] static ApiResult<FieldSelector> parse(std::string_view text);
  // A field that is missing from `fields` counts as "".
  [[nodiscard]] bool matches(const Fields& fields) const;
  [[nodiscard]] bool empty() const { return terms_.empty(); }
  // The first field that is not in `supported`; empty if there is none.
  [[nodiscard]] std::string first_unsupported(const std::vector<std::string>& supported) const;

 private:
  struct Term {
    std::string field;
    bool equal = true;
    std::string value;
  };
  std::vector<Term> terms_;
};

// The value of `name`, or nullptr.
[[nodiscard]] const std::string* find_field(const Fields& fields, std::string_view name);

}  // namespace plimsoll::sandbox
