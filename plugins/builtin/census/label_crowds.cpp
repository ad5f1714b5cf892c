#include "plugins/builtin/census/label_crowds.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

void append_text(std::string& bytes, const plimsoll_str& text) {
  bytes.append(reinterpret_cast<const char*>(&text.len), sizeof text.len).append(view(text));
}

}  // namespace

LabelCrowd& LabelCrowds::of(const PodTraits& pod, bool& is_new) {
  key_.assign(1, pod.terminating ? '1' : '0');
  append_text(key_, pod.ns);
  for (const plimsoll_label& label : Labels(pod.labels)) {
    append_text(key_, label.key);
    append_text(key_, label.value);
  }
  const auto found = crowds_.find(key_);
  is_new = found == crowds_.end();
  if (!is_new) return *found->second;
  const auto made = crowds_.emplace(key_, std::make_unique<LabelCrowd>()).first;
  LabelCrowd& crowd = *made->second;
  crowd.key = made->first;
  // The texts are in the key, in the same order.
  size_t at = 1;
  const auto next = [&](const plimsoll_str& text) {
    at += sizeof text.len;
    const plimsoll_str kept = str(crowd.key.substr(at, text.len));
    at += text.len;
    return kept;
  };
  crowd.traits = {next(pod.ns), {}, pod.terminating};
  for (const plimsoll_label& label : Labels(pod.labels)) {
    const plimsoll_str key = next(label.key);
    crowd.labels.push_back({key, next(label.value)});
  }
  crowd.traits.labels = {crowd.labels.data(), static_cast<uint32_t>(crowd.labels.size()),
                         sizeof(plimsoll_label)};
  enter(crowd);
  return crowd;
}

void LabelCrowds::enter(LabelCrowd& crowd) {
  for (const plimsoll_label& label : crowd.labels) {
    const uint64_t hash = label_hash(label.key, label.value);
    List& list = by_label_[hash];
    crowd.hashes.push_back(hash);
    crowd.places.push_back(list.size());
    list.push_back(&crowd);
  }
  List& here = by_namespace_[std::string(view(crowd.traits.ns))];
  crowd.place_in_namespace = here.size();
  here.push_back(&crowd);
}

void LabelCrowds::drop(LabelCrowd& crowd) {
  for (size_t i = 0; i < crowd.hashes.size(); ++i) {
    const auto list = by_label_.find(crowd.hashes[i]);
    LabelCrowd& last = *list->second.back();
    const size_t last_place = list->second.size() - 1;
    list->second[crowd.places[i]] = &last;
    list->second.pop_back();
    for (size_t j = 0; j < last.hashes.size(); ++j) {
      if (last.hashes[j] != crowd.hashes[i] || last.places[j] != last_place) continue;
      last.places[j] = crowd.places[i];
      break;
    }
    if (list->second.empty()) by_label_.erase(list);
  }
  const auto here = by_namespace_.find(std::string(view(crowd.traits.ns)));
  here->second.back()->place_in_namespace = crowd.place_in_namespace;
  here->second[crowd.place_in_namespace] = here->second.back();
  here->second.pop_back();
  if (here->second.empty()) by_namespace_.erase(here);
  crowds_.erase(crowds_.find(std::string(crowd.key)));
}

void LabelCrowds::clear() {
  by_label_.clear();
  by_namespace_.clear();
  crowds_.clear();
}

const LabelCrowds::List& LabelCrowds::in_namespace(std::string_view ns) const {
  const auto found = by_namespace_.find(std::string(ns));
  return found == by_namespace_.end() ? none_ : found->second;
}

const LabelCrowds::List& LabelCrowds::with_label(uint64_t hash) const {
  const auto found = by_label_.find(hash);
  return found == by_label_.end() ? none_ : found->second;
}

}  // namespace plimsoll::builtin
