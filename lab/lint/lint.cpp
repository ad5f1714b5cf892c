#include "lab/lint/lint.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "framework/runtime/plugin/modules.hpp"
#include "lab/lint/lives.hpp"

namespace plimsoll::lint {
namespace {

constexpr std::pair<uint32_t, const char*> kAspectNames[] = {
    {PLIMSOLL_ASPECT_ALLOCATABLE, "allocatable"},
    {PLIMSOLL_ASPECT_REQUESTED, "requested"},
    {PLIMSOLL_ASPECT_LABELS, "labels"},
    {PLIMSOLL_ASPECT_TAINTS, "taints"},
    {PLIMSOLL_ASPECT_PORTS, "ports"},
    {PLIMSOLL_ASPECT_IMAGES, "images"},
    {PLIMSOLL_ASPECT_VOLUMES, "volumes"},
    {PLIMSOLL_ASPECT_CONDITIONS, "conditions"},
    {PLIMSOLL_ASPECT_ANNOTATIONS, "annotations"},
    {PLIMSOLL_ASPECT_FEATURES, "features"},
    {PLIMSOLL_ASPECT_PODS, "pods"},
    {PLIMSOLL_ASPECT_NOMINATED, "nominated"},
    {PLIMSOLL_ASPECT_PLUGIN, "plugin"},
    {PLIMSOLL_ASPECT_CLUSTER, "cluster"}};

using Points = std::vector<ExtensionPoint>;

bool has(const Points& points, ExtensionPoint point) {
  return std::find(points.begin(), points.end(), point) != points.end();
}

// A profile with the plugin alone at the points that decide, so that the signature is its own.
ProfileSpec profile_of(const Points& points, const std::string& plugin, const Options& options) {
  ProfileSpec spec;
  spec.scheduler_name = "lint";
  spec.args = options.args;
  spec.at(ExtensionPoint::kQueueSort).push_back({"PrioritySort"});
  spec.at(ExtensionPoint::kBind).push_back({"DefaultBinder"});
  for (const ExtensionPoint point :
       {ExtensionPoint::kPreFilter, ExtensionPoint::kFilter, ExtensionPoint::kPreScore,
        ExtensionPoint::kScore, ExtensionPoint::kReserve}) {
    if (has(points, point)) spec.at(point).push_back({plugin});
  }
  spec.plugins = options.companions;
  spec.plugins.push_back(plugin);  // it may be at none of them
  return spec;
}

void describe(const Framework& framework, const Plugin& plugin, Report& report) {
  const PluginIndex index = plugin.index();
  report.filter.present = plugin.has(Part::kFilter);
  report.filter.declared = framework.filter_aspects(index);
  report.score.present = plugin.has(Part::kScore);
  report.score.declared = framework.score_aspects(index);
  report.normalizes = report.score.present && framework.has_normalize(index);
  report.by_extremes = report.normalizes && framework.normalizes_by_extremes(index);
}

bool decides(const Report& report) {
  return report.filter.present || report.score.present;
}

// In a cluster of its own.
Result<void> examine(const Lives& lives, World& world, CallNote& note, Notes& notes) {
  note.about_to("create and start");
  const auto cluster = lives.make();
  if (!cluster) return fail(cluster.error());
  Plugin examined(**cluster, note, lives.plugin);
  describe((*cluster)->framework(), examined, notes.report);
  if (!decides(notes.report)) return {};
  return Examiner(**cluster, examined, world, lives.options, note, notes).run();
}

void hint_at_aspects(Part part, Notes& notes, std::vector<std::string>& hints) {
  const PartReport& of = notes.of(part);
  const std::string name = part_name(part);
  if (!of.present) return;
  if (of.answers == 0) return;
  const bool cluster = (of.declared & PLIMSOLL_ASPECT_CLUSTER) != 0;
  const bool needs_cluster = notes.needs_cluster[static_cast<int>(part)];
  if (of.declared == 0) {
    hints.push_back(name + " declares nothing, so it is asked each time; it was seen to rest on " +
                    (needs_cluster ? "the cluster" : aspect_names(of.rests_on)));
  } else if (cluster && !needs_cluster) {
    hints.push_back(name +
                    " declares cluster scope, so it is asked each time; it was seen to rest "
                    "on " +
                    aspect_names(of.rests_on) + " of the node only");
  }
  const uint32_t idle = cluster ? 0 : of.declared & ~of.rests_on;
  if (idle != 0) {
    hints.push_back(name + " declares " + aspect_names(idle) +
                    ", whose changes never changed an answer");
  }
}

// What a part always said, whatever was tried; empty: it said different things.
std::string monotony(Part part, Notes& notes) {
  const PartReport& of = notes.of(part);
  if (!of.present || of.varied) return {};
  const std::string times = std::to_string(of.answers) + " times";
  if (of.answers == 0) {
    const std::string& error = notes.error[static_cast<int>(part)];
    return part_name(part) + (error.empty()
                                  ? " was never asked: PreFilter, or PreScore, turned "
                                    "every pod away"
                                  : " gave no answer, only errors; the last one: " + error);
  }
  if (part == Part::kScore) return "score gave the same " + times;
  return "filter " + std::string(of.refused == 0 ? "passed" : "refused") + " all " + times;
}

void add_hints(Notes& notes, const Options& options, const Points& points) {
  Report& report = notes.report;
  std::vector<std::string>& hints = report.hints;
  if (!decides(report)) {
    hints.push_back("it neither filters nor scores: nothing of it is kept");
    return;
  }
  hint_at_aspects(Part::kFilter, notes, hints);
  hint_at_aspects(Part::kScore, notes, hints);
  if (!report.signs) {
    hints.push_back("it signs no pod, so it is asked each time; its answers were seen to rest on " +
                    (report.matters.empty() ? "no field of the pod" : sdk::join(report.matters)));
  }
  std::vector<std::string> idle;
  for (const std::string& field : notes.signed_fields) {
    if (std::find(report.matters.begin(), report.matters.end(), field) == report.matters.end()) {
      idle.push_back(field);
    }
  }
  if (!idle.empty()) {
    hints.push_back("sign puts down what changes with " + sdk::join(idle) +
                    ", and no change of it changed an answer");
  }
  if (report.normalizes && !report.by_extremes && !notes.normalizes_by_more &&
      notes.normalized != 0) {
    hints.push_back(
        "normalize was not seen to look at more than a score and the extremes: "
        "normalizes_by_extremes spares it most calls");
  }
  std::vector<std::string> uncalled;
  for (const ExtensionPoint point :
       {ExtensionPoint::kPostFilter, ExtensionPoint::kPermit, ExtensionPoint::kPreBind,
        ExtensionPoint::kBind, ExtensionPoint::kPostBind}) {
    if (has(points, point)) uncalled.emplace_back(name(point));
  }
  if (!uncalled.empty()) {
    hints.push_back("not called here, but by plimsoll simulate: " + sdk::join(uncalled));
  }
  for (const std::string& resource : notes.watched) {
    const auto is_given = [&](const Object& object) { return object.resource == resource; };
    if (std::none_of(options.objects.begin(), options.objects.end(), is_given)) {
      hints.push_back("it watches " + resource +
                      ", and no such object was given: some were made up of the texts in its file");
    }
  }
}

}  // namespace

std::string aspect_names(uint32_t aspects) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : kAspectNames) {
    if ((aspects & bit) != 0) names.emplace_back(name);
  }
  return names.empty() ? "nothing" : sdk::join(names);
}

Result<Report> lint_plugin(const Modules& modules, const std::string& plugin,
                           const Options& options) {
  const auto args = options.args.find(plugin);
  const auto points =
      modules.extension_points(plugin, args == options.args.end() ? "{}" : args->second);
  if (!points) return fail(points.error());
  const ProfileSpec spec = profile_of(*points, plugin, options);
  const auto world = World::of(options);
  if (!world) return fail(world.error());
  CallNote note(options.call_note, options.calls, plugin);
  Notes notes;
  notes.report.plugin = plugin;
  const Lives lives{
      [&] { return TrialCluster::create(modules, spec); }, plugin, options,
      has(*points, ExtensionPoint::kReserve),
      has(*points, ExtensionPoint::kPreBind) || has(*points, ExtensionPoint::kPostBind)};
  for (size_t round = 0; round < options.rounds; ++round) {
    note.in_cluster(round);
    World local = *world;
    local.dice = Dice(options.seed * 1'000'003 + round);
    if (auto run = examine(lives, local, note, notes); !run) return fail(run.error());
    if (!decides(notes.report) && !lives.reserves) break;
    local = *world;
    local.dice = Dice(options.seed * 1'000'033 + round);
    if (auto run = check_lives(lives, std::move(local), note, notes); !run) {
      return fail(run.error());
    }
  }
  for (const CallNote::Failure& failure : note.take_failures()) {
    notes.fails(Part::kFilter, failure.function, failure.error, failure.call,
                "take what it cannot read for none: the call ends in its middle, and what the "
                "plugin keeps may be half of the truth");
  }
  note.about_to("destroy");
  add_hints(notes, options, *points);
  for (const Part part : kBothParts) {
    std::string same = monotony(part, notes);
    if (!same.empty()) notes.report.untried.push_back(std::move(same));
  }
  notes.report.findings = notes.findings();
  return std::move(notes.report);
}

}  // namespace plimsoll::lint
