#include "lab/simulate/arrivals.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/sandbox/kubelet/kubelet.hpp"

namespace plimsoll::cli {

Arrivals::Arrivals(const std::vector<std::string>& texts, std::vector<std::string>& notes) {
  for (const std::string& text : texts) {
    double seconds = 0;
    // Most objects have no such annotation and need no parsing.
    if (text.find(kArriveSecondsAnnotation) != std::string::npos) {
      const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
      const nlohmann::json metadata = object.is_object()
                                          ? object.value("metadata", nlohmann::json::object())
                                          : nlohmann::json();
      const nlohmann::json annotations =
          metadata.is_object() ? metadata.value("annotations", nlohmann::json()) : nlohmann::json();
      const auto said =
          annotations.is_object() ? annotations.find(kArriveSecondsAnnotation) : annotations.end();
      if (annotations.is_object() && said != annotations.end()) {
        const auto parsed =
            said->is_string() ? sandbox::parse_seconds(said->get<std::string>()) : std::nullopt;
        if (!parsed) {
          notes.push_back("pod " + metadata.value("name", "") + ": the annotation " +
                          kArriveSecondsAnnotation +
                          " is not a number of seconds: the pod comes at once");
        }
        seconds = parsed.value_or(0);
      }
    }
    coming_.push_back({seconds, text});
  }
  std::stable_sort(coming_.begin(), coming_.end(),
                   [](const Arrival& a, const Arrival& b) { return a.seconds < b.seconds; });
}

std::vector<std::string> Arrivals::take(double seconds) {
  std::vector<std::string> texts;
  while (!coming_.empty() && coming_.front().seconds <= seconds) {
    texts.push_back(std::move(coming_.front().text));
    coming_.pop_front();
  }
  return texts;
}

std::optional<double> Arrivals::next() const {
  if (coming_.empty()) return std::nullopt;
  return coming_.front().seconds;
}

std::vector<std::string> Arrivals::coming() const {
  std::vector<std::string> names;
  for (const Arrival& arrival : coming_) {
    const nlohmann::json object = nlohmann::json::parse(arrival.text, nullptr, false);
    const nlohmann::json metadata =
        object.is_object() ? object.value("metadata", nlohmann::json::object()) : nlohmann::json();
    if (!metadata.is_object()) continue;
    names.push_back(metadata.value("namespace", "default") + "/" + metadata.value("name", ""));
  }
  return names;
}

}  // namespace plimsoll::cli
