#pragma once
// Parts of a pod as bytes of its signature (SignPlugin): equal bytes, equal verdicts.

#include <plimsoll/plugin.hpp>

namespace plimsoll::builtin {

void sign(sdk::Sink& sink, sdk::Labels labels);
void sign(sdk::Sink& sink, sdk::Resources resources);
void sign(sdk::Sink& sink, sdk::List<plimsoll_toleration> tolerations);
void sign(sdk::Sink& sink, sdk::List<plimsoll_node_selector_term> terms);
void sign(sdk::Sink& sink, const plimsoll_label_selector& selector);

}  // namespace plimsoll::builtin
