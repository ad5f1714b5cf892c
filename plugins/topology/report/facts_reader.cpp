#include <algorithm>

#include "plugins/topology/report/facts_parts.hpp"

namespace plimsoll::topology::kubelet {
namespace {

// Everything of the object that a model is made of, as bytes.
std::string model_key(const NrtObject& nrt, const Columns& columns) {
  std::string key;
  key.reserve(1024 + nrt.machine_facts.size());
  const auto number = [&](int64_t value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto text = [&](std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    key += value;
  };
  number(static_cast<int64_t>(nrt.manager.policy));
  number(static_cast<int64_t>(nrt.manager.scope));
  number(nrt.manager.max_numa_nodes);
  number(std::count_if(nrt.attributes.begin(), nrt.attributes.end(),
                       [](const NrtAttribute& each) { return is_setting(each.name); }));
  for (const NrtAttribute& attribute : nrt.attributes) {
    if (!is_setting(attribute.name)) continue;
    text(attribute.name);
    text(attribute.value);
  }
  text(nrt.machine_facts);
  for (const Column& zone : columns) {
    number(zone->id);
    number(static_cast<int64_t>(zone->costs.size()));
    for (const ZoneCost& cost : zone->costs) {
      number(cost.zone_id);
      number(cost.value);
    }
    number(static_cast<int64_t>(zone->resources.size()));
    for (const ZoneResource& resource : zone->resources) {
      text(resource.name);
      number(resource.capacity);
      number(resource.allocatable);
    }
  }
  return key;
}

NodeModel model_of(const NrtObject& nrt, const Columns& columns, const InternResource& index,
                   Layouts& layouts, std::vector<std::string>& problems) {
  NodeModel model = model_of_counts(columns, nrt, index);
  read_machine(nrt.machine_facts, columns, index, model, layouts, problems);
  read_settings(nrt, model, problems);
  model.prepare();
  return model;
}

}  // namespace

void Problems::add(size_t line, std::string_view what, std::string_view instead) {
  if (texts_.size() >= kMostProblems) return;
  std::string text = where_;
  if (line > 0) text += ", line " + std::to_string(line);
  texts_.push_back(text + ": " + std::string(what) + "; " + std::string(instead));
}

NodeFacts from_counts(const NrtObject& nrt, const InternResource& index) {
  const Columns columns = columns_of(nrt);
  NodeModel model = model_of_counts(columns, nrt, index);
  model.prepare();
  NodeFacts facts;
  facts.state = state_of_counts(columns, model, index);
  facts.model = std::make_shared<const NodeModel>(std::move(model));
  return facts;
}

NodeFacts FactsReader::read(const NrtObject& nrt) {
  const Columns columns = columns_of(nrt);
  std::string key = model_key(nrt, columns);
  std::shared_ptr<const Known> known = known_.find(key);
  if (!known) {
    Known made;
    made.model = model_of(nrt, columns, index_, layouts_, made.problems);
    known = known_.add(std::move(key), std::move(made));
  }
  NodeFacts facts;
  facts.model = {known, &known->model};
  facts.problems = known->problems;
  facts.state = state_of_counts(columns, *facts.model, index_);
  read_free(nrt, columns, *facts.model, index_, facts);
  return facts;
}

}  // namespace plimsoll::topology::kubelet
