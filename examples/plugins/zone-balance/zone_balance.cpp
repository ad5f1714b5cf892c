#include "zone_balance.hpp"

PLIMSOLL_PLUGIN(ZoneBalance, "ZoneBalance", "1.0.0", "Apache-2.0")
