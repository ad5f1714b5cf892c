#pragma once
// The storage of the random cluster: classes, CSINodes, volumes and claims, and the controller that
// binds claims. It acts in the moment of a write, so a pod's PreBind never waits for it.

#include "tests/cycle/random_cluster.hpp"
#include "tests/cycle/random_objects.hpp"

namespace plimsoll::testing {

// The classes, and claims for all names that random_pod() uses.
void put_first_storage(Dice& dice, RandomCluster& cluster, size_t node_names);

// One change: a volume or claim comes or goes, a node's driver takes more or fewer volumes, a class
// gets other topologies. Returns what it was, for the journal.
std::string change_storage(Dice& dice, RandomCluster& cluster, size_t node_names);

// Binds every claim that a volume names, and makes volumes for the claims that have a node.
void bind_claims(RandomCluster& cluster);

}  // namespace plimsoll::testing
