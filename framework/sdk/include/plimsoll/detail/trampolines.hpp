// Plimsoll plugin SDK, internal: check the signatures of plugin functions and put the C functions
// that call them into the table.
#pragma once

#include <plimsoll/detail/trampolines_bind.hpp>
#include <plimsoll/detail/trampolines_filter.hpp>
#include <plimsoll/detail/trampolines_queue.hpp>
#include <plimsoll/detail/trampolines_score.hpp>
#include <plimsoll/detail/trampolines_state.hpp>
