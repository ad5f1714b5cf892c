#include "plugins/builtin/signing.hpp"

namespace plimsoll::builtin {
namespace {

using sdk::List;
using sdk::Sink;
using sdk::view;

void put(Sink& sink, const plimsoll_str& text) {
  sink.put_field(view(text));
}

void put(Sink& sink, List<plimsoll_requirement> requirements) {
  sink.put_value(uint64_t{requirements.size()});
  for (const plimsoll_requirement& requirement : requirements) {
    put(sink, requirement.key);
    sink.put_value(requirement.op);
    const List<plimsoll_str> values = requirement.values;
    sink.put_value(uint64_t{values.size()});
    for (const plimsoll_str& value : values) put(sink, value);
  }
}

}  // namespace

void sign(Sink& sink, sdk::Labels labels) {
  sink.put_value(uint64_t{labels.size()});
  for (const plimsoll_label& label : labels) {
    put(sink, label.key);
    put(sink, label.value);
  }
}

void sign(Sink& sink, sdk::Resources resources) {
  sink.put_value(uint64_t{resources.size()});
  for (const plimsoll_resource& resource : resources) {
    sink.put_value(resource.index);
    sink.put_value(resource.value);
    if (resource.index == PLIMSOLL_RESOURCE_OF_NO_NODE) put(sink, resource.name);
  }
}

void sign(Sink& sink, List<plimsoll_toleration> tolerations) {
  sink.put_value(uint64_t{tolerations.size()});
  for (const plimsoll_toleration& toleration : tolerations) {
    put(sink, toleration.key);
    put(sink, toleration.value);
    sink.put_value(toleration.op);
    sink.put_value(toleration.effect);
  }
}

void sign(Sink& sink, List<plimsoll_node_selector_term> terms) {
  sink.put_value(uint64_t{terms.size()});
  for (const plimsoll_node_selector_term& term : terms) {
    sink.put_value(term.weight);
    put(sink, List<plimsoll_requirement>(term.expressions));
    put(sink, List<plimsoll_requirement>(term.fields));
  }
}

void sign(Sink& sink, const plimsoll_label_selector& selector) {
  sink.put_value(uint8_t{selector.present != 0});
  sign(sink, sdk::Labels(selector.match_labels));
  put(sink, List<plimsoll_requirement>(selector.expressions));
}

}  // namespace plimsoll::builtin
