#include "framework/api/decode/protobuf_schema.hpp"

#include <array>

namespace plimsoll {
namespace {

constexpr ProtoField text(uint32_t number, std::string_view name) {
  return {number, name};
}
constexpr ProtoField texts(uint32_t number, std::string_view name) {
  return {number, name, ProtoKind::kText, ProtoShape::kMany};
}
constexpr ProtoField text_map(uint32_t number, std::string_view name) {
  return {number, name, ProtoKind::kText, ProtoShape::kMap};
}
constexpr ProtoField integer(uint32_t number, std::string_view name) {
  return {number, name, ProtoKind::kInteger};
}
constexpr ProtoField time(uint32_t number, std::string_view name) {
  return {number, name, ProtoKind::kTime};
}
constexpr ProtoField quantity(uint32_t number, std::string_view name) {
  return {number, name, ProtoKind::kQuantity, ProtoShape::kOne};
}
constexpr ProtoField quantity_map(uint32_t number, std::string_view name) {
  return {number, name, ProtoKind::kQuantity, ProtoShape::kMap};
}
constexpr ProtoField one(uint32_t number, std::string_view name, const ProtoMessage& message) {
  return {number, name, ProtoKind::kMessage, ProtoShape::kOne, &message};
}
constexpr ProtoField many(uint32_t number, std::string_view name, const ProtoMessage& message) {
  return {number, name, ProtoKind::kMessage, ProtoShape::kMany, &message};
}

// ---- metav1

constexpr std::array kOwnerFields{text(1, "kind"), text(3, "name"), text(4, "uid"),
                                  text(5, "apiVersion"), integer(6, "controller")};
constexpr ProtoMessage kOwner{kOwnerFields};
constexpr std::array kMetaFields{text(1, "name"),
                                 text(3, "namespace"),
                                 text(5, "uid"),
                                 text(6, "resourceVersion"),
                                 integer(7, "generation"),
                                 time(8, "creationTimestamp"),
                                 time(9, "deletionTimestamp"),
                                 text_map(11, "labels"),
                                 text_map(12, "annotations"),
                                 many(13, "ownerReferences", kOwner)};
constexpr ProtoMessage kMeta{kMetaFields};
// LabelSelectorRequirement and NodeSelectorRequirement.
constexpr std::array kRequirementFields{text(1, "key"), text(2, "operator"), texts(3, "values")};
constexpr ProtoMessage kRequirement{kRequirementFields};
constexpr std::array kSelectorFields{text_map(1, "matchLabels"),
                                     many(2, "matchExpressions", kRequirement)};
constexpr ProtoMessage kSelector{kSelectorFields};

// ---- pods: containers

constexpr std::array kContainerClaimFields{text(1, "name")};
constexpr ProtoMessage kContainerClaim{kContainerClaimFields};
constexpr std::array kResourcesFields{quantity_map(1, "limits"), quantity_map(2, "requests"),
                                      many(3, "claims", kContainerClaim)};
constexpr ProtoMessage kResources{kResourcesFields};
constexpr std::array kPortFields{integer(2, "hostPort"), text(4, "protocol"), text(5, "hostIP")};
constexpr ProtoMessage kPort{kPortFields};
constexpr std::array kRestartRuleFields{text(1, "action")};
constexpr ProtoMessage kRestartRule{kRestartRuleFields};
constexpr std::array kVolumeMountFields{texts(8, "bindMountOptions")};
constexpr ProtoMessage kVolumeMount{kVolumeMountFields};
constexpr std::array kContainerFields{text(1, "name"),
                                      text(2, "image"),
                                      many(6, "ports", kPort),
                                      one(8, "resources", kResources),
                                      many(9, "volumeMounts", kVolumeMount),
                                      text(24, "restartPolicy"),
                                      many(25, "restartPolicyRules", kRestartRule)};
constexpr ProtoMessage kContainer{kContainerFields};

// ---- pods: placement rules

constexpr std::array kNodeTermFields{many(1, "matchExpressions", kRequirement),
                                     many(2, "matchFields", kRequirement)};
constexpr ProtoMessage kNodeTerm{kNodeTermFields};
constexpr std::array kNodeSelectorFields{many(1, "nodeSelectorTerms", kNodeTerm)};
constexpr ProtoMessage kNodeSelector{kNodeSelectorFields};
constexpr std::array kPreferredNodeFields{integer(1, "weight"), one(2, "preference", kNodeTerm)};
constexpr ProtoMessage kPreferredNode{kPreferredNodeFields};
constexpr std::array kNodeAffinityFields{
    one(1, "requiredDuringSchedulingIgnoredDuringExecution", kNodeSelector),
    many(2, "preferredDuringSchedulingIgnoredDuringExecution", kPreferredNode)};
constexpr ProtoMessage kNodeAffinity{kNodeAffinityFields};
constexpr std::array kPodTermFields{one(1, "labelSelector", kSelector), texts(2, "namespaces"),
                                    text(3, "topologyKey"), one(4, "namespaceSelector", kSelector)};
constexpr ProtoMessage kPodTerm{kPodTermFields};
constexpr std::array kWeightedPodFields{integer(1, "weight"), one(2, "podAffinityTerm", kPodTerm)};
constexpr ProtoMessage kWeightedPod{kWeightedPodFields};
constexpr std::array kPodAffinityFields{
    many(1, "requiredDuringSchedulingIgnoredDuringExecution", kPodTerm),
    many(2, "preferredDuringSchedulingIgnoredDuringExecution", kWeightedPod)};
constexpr ProtoMessage kPodAffinity{kPodAffinityFields};
constexpr std::array kAffinityFields{one(1, "nodeAffinity", kNodeAffinity),
                                     one(2, "podAffinity", kPodAffinity),
                                     one(3, "podAntiAffinity", kPodAffinity)};
constexpr ProtoMessage kAffinity{kAffinityFields};
constexpr std::array kTolerationFields{text(1, "key"), text(2, "operator"), text(3, "value"),
                                       text(4, "effect")};
constexpr ProtoMessage kToleration{kTolerationFields};
constexpr std::array kSpreadFields{integer(1, "maxSkew"),        text(2, "topologyKey"),
                                   text(3, "whenUnsatisfiable"), one(4, "labelSelector", kSelector),
                                   integer(5, "minDomains"),     text(6, "nodeAffinityPolicy"),
                                   text(7, "nodeTaintsPolicy"),  texts(8, "matchLabelKeys")};
constexpr ProtoMessage kSpread{kSpreadFields};
constexpr std::array kGateFields{text(1, "name")};
constexpr ProtoMessage kGate{kGateFields};
constexpr std::array kPodClaimFields{text(1, "name"), text(3, "resourceClaimName"),
                                     text(4, "resourceClaimTemplateName")};
constexpr ProtoMessage kPodClaim{kPodClaimFields};
constexpr std::array kPodClaimStatusFields{text(1, "name"), text(2, "resourceClaimName")};
constexpr ProtoMessage kPodClaimStatus{kPodClaimStatusFields};
constexpr std::array kExtendedClaimFields{text(2, "resourceClaimName")};
constexpr ProtoMessage kExtendedClaim{kExtendedClaimFields};

constexpr std::array kMappedAmountFields{text(1, "name"), quantity(2, "quantity")};
constexpr ProtoMessage kMappedAmount{kMappedAmountFields};
constexpr std::array kOverheadAmountFields{text(1, "name"), quantity(2, "perPod"),
                                           quantity(3, "perContainer")};
constexpr ProtoMessage kOverheadAmount{kOverheadAmountFields};
constexpr std::array kClaimAmountFields{text(1, "resourceClaimName"), texts(2, "containers"),
                                        many(4, "mapping", kMappedAmount),
                                        many(5, "overhead", kOverheadAmount)};
constexpr ProtoMessage kClaimAmount{kClaimAmountFields};

constexpr std::array kSchedulingGroupFields{text(1, "podGroupName")};
constexpr ProtoMessage kSchedulingGroup{kSchedulingGroupFields};

// ---- pods: volumes

constexpr std::array kClaimVolumeFields{text(1, "claimName"), integer(2, "readOnly")};
constexpr ProtoMessage kClaimVolume{kClaimVolumeFields};
constexpr std::array kGceFields{text(1, "pdName"), integer(4, "readOnly")};
constexpr ProtoMessage kGce{kGceFields};
constexpr std::array kEbsFields{text(1, "volumeID"), integer(4, "readOnly")};
constexpr ProtoMessage kEbs{kEbsFields};
constexpr std::array kIscsiFields{text(2, "iqn"), integer(6, "readOnly")};
constexpr ProtoMessage kIscsi{kIscsiFields};
constexpr std::array kRbdFields{texts(1, "monitors"), text(2, "image"), text(4, "pool"),
                                integer(8, "readOnly")};
constexpr ProtoMessage kRbd{kRbdFields};
constexpr std::array kImageVolumeFields{text(1, "reference")};
constexpr ProtoMessage kImageVolume{kImageVolumeFields};
constexpr std::array kAzureDiskFields{text(2, "diskURI"), integer(5, "readOnly"), text(6, "kind")};
constexpr ProtoMessage kAzureDisk{kAzureDiskFields};
// CinderVolumeSource and PortworxVolumeSource.
constexpr std::array kVolumeIdFields{text(1, "volumeID"), integer(3, "readOnly")};
constexpr ProtoMessage kVolumeId{kVolumeIdFields};
constexpr std::array kVsphereFields{text(1, "volumePath")};
constexpr ProtoMessage kVsphere{kVsphereFields};
constexpr std::array kCsiFields{text(1, "driver"), integer(2, "readOnly")};
constexpr ProtoMessage kCsi{kCsiFields};
constexpr ProtoMessage kOpaque{};  // only its presence is read
constexpr std::array kVolumeSourceFields{one(1, "hostPath", kOpaque),
                                         one(2, "emptyDir", kOpaque),
                                         one(3, "gcePersistentDisk", kGce),
                                         one(4, "awsElasticBlockStore", kEbs),
                                         one(5, "gitRepo", kOpaque),
                                         one(6, "secret", kOpaque),
                                         one(7, "nfs", kOpaque),
                                         one(8, "iscsi", kIscsi),
                                         one(9, "glusterfs", kOpaque),
                                         one(10, "persistentVolumeClaim", kClaimVolume),
                                         one(11, "rbd", kRbd),
                                         one(12, "flexVolume", kOpaque),
                                         one(13, "cinder", kVolumeId),
                                         one(14, "cephfs", kOpaque),
                                         one(15, "flocker", kOpaque),
                                         one(16, "downwardAPI", kOpaque),
                                         one(17, "fc", kOpaque),
                                         one(18, "azureFile", kOpaque),
                                         one(19, "configMap", kOpaque),
                                         one(20, "vsphereVolume", kVsphere),
                                         one(21, "quobyte", kOpaque),
                                         one(22, "azureDisk", kAzureDisk),
                                         one(23, "photonPersistentDisk", kOpaque),
                                         one(24, "portworxVolume", kVolumeId),
                                         one(25, "scaleIO", kOpaque),
                                         one(26, "projected", kOpaque),
                                         one(27, "storageos", kOpaque),
                                         one(28, "csi", kCsi),
                                         one(29, "ephemeral", kOpaque),
                                         one(30, "image", kImageVolume)};
constexpr ProtoMessage kVolumeSource{kVolumeSourceFields};
constexpr std::array kVolumeFields{
    text(1, "name"), ProtoField{2, "", ProtoKind::kMessage, ProtoShape::kInline, &kVolumeSource}};
constexpr ProtoMessage kVolume{kVolumeFields};

// ---- pods

constexpr std::array kPodSpecFields{many(1, "volumes", kVolume),
                                    many(2, "containers", kContainer),
                                    text_map(7, "nodeSelector"),
                                    text(10, "nodeName"),
                                    integer(11, "hostNetwork"),
                                    one(18, "affinity", kAffinity),
                                    text(19, "schedulerName"),
                                    many(20, "initContainers", kContainer),
                                    many(22, "tolerations", kToleration),
                                    text(24, "priorityClassName"),
                                    integer(25, "priority"),
                                    text(29, "runtimeClassName"),
                                    text(31, "preemptionPolicy"),
                                    quantity_map(32, "overhead"),
                                    many(33, "topologySpreadConstraints", kSpread),
                                    integer(37, "hostUsers"),
                                    many(38, "schedulingGates", kGate),
                                    many(39, "resourceClaims", kPodClaim),
                                    one(40, "resources", kResources),
                                    one(43, "schedulingGroup", kSchedulingGroup)};
constexpr ProtoMessage kPodSpec{kPodSpecFields};
constexpr std::array kPodConditionFields{text(1, "type"), text(2, "status"), text(5, "reason"),
                                         text(6, "message")};
constexpr ProtoMessage kPodCondition{kPodConditionFields};
constexpr std::array kContainerStatusFields{text(1, "name"), quantity_map(10, "allocatedResources"),
                                            one(11, "resources", kResources)};
constexpr ProtoMessage kContainerStatus{kContainerStatusFields};
constexpr std::array kPodStatusFields{
    text(1, "phase"),
    many(2, "conditions", kPodCondition),
    text(4, "reason"),
    time(7, "startTime"),
    many(8, "containerStatuses", kContainerStatus),
    text(9, "qosClass"),
    many(10, "initContainerStatuses", kContainerStatus),
    text(11, "nominatedNodeName"),
    many(15, "resourceClaimStatuses", kPodClaimStatus),
    one(18, "extendedResourceClaimStatus", kExtendedClaim),
    quantity_map(19, "allocatedResources"),
    one(20, "resources", kResources),
    many(21, "nodeAllocatableResourceClaimStatuses", kClaimAmount)};
constexpr ProtoMessage kPodStatus{kPodStatusFields};
constexpr std::array kPodFields{one(1, "metadata", kMeta), one(2, "spec", kPodSpec),
                                one(3, "status", kPodStatus)};

// ---- nodes

constexpr std::array kTaintFields{text(1, "key"), text(2, "value"), text(3, "effect")};
constexpr ProtoMessage kTaint{kTaintFields};
constexpr std::array kNodeSpecFields{integer(4, "unschedulable"), many(5, "taints", kTaint)};
constexpr ProtoMessage kNodeSpec{kNodeSpecFields};
constexpr std::array kNodeConditionFields{text(1, "type"), text(2, "status")};
constexpr ProtoMessage kNodeCondition{kNodeConditionFields};
constexpr std::array kImageFields{texts(1, "names"), integer(2, "sizeBytes")};
constexpr ProtoMessage kImage{kImageFields};
constexpr std::array kNodeStatusFields{quantity_map(1, "capacity"), quantity_map(2, "allocatable"),
                                       many(4, "conditions", kNodeCondition),
                                       many(8, "images", kImage), texts(14, "declaredFeatures")};
constexpr ProtoMessage kNodeStatus{kNodeStatusFields};
constexpr std::array kNodeFields{one(1, "metadata", kMeta), one(2, "spec", kNodeSpec),
                                 one(3, "status", kNodeStatus)};

}  // namespace

constexpr ProtoMessage kPodMessage{kPodFields};
constexpr ProtoMessage kNodeMessage{kNodeFields};

}  // namespace plimsoll
