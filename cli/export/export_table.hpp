#pragma once
// What an export keeps of each kind; docs/export.md shows it to users and says how to read it.

#include <string_view>

namespace plimsoll::cli {

// One type a line, "Type field:how field:Type ..."; a kind is a type with its name.
inline constexpr std::string_view kExportTable =
    R"(Meta name:name namespace:name uid creationTimestamp deletionTimestamp
LabelledMeta +Meta labels:Labels
Labels *key:value
LabelSelector matchLabels:Labels matchExpressions:Requirement
Requirement key:key operator values:value
Amounts *
Resources requests:Amounts limits:Amounts claims:ContainerClaim
ContainerClaim name:name
Owner apiVersion:name kind:name name:name uid controller
Namespace metadata:LabelledMeta
Node metadata:NodeMeta spec:NodeSpec status:NodeStatus
NodeMeta +LabelledMeta annotations:NodeAnnotations
NodeAnnotations plimsoll.io/device-links:{Links} sandbox.plimsoll.io/machine
NodeSpec unschedulable taints:Taint
Taint key:key value:value effect
NodeStatus capacity:Amounts allocatable:Amounts conditions:NodeCondition images:NodeImage declaredFeatures
NodeCondition type:Ready|MemoryPressure|DiskPressure|PIDPressure|NetworkUnavailable status
NodeImage names:image sizeBytes
NodeResourceTopology metadata:TopologyMeta topologyPolicies attributes:TopologyAttribute zones:Zone
TopologyMeta +Meta ownerReferences:Owner annotations:TopologyAnnotations managedFields:Written
TopologyAnnotations topology.node.k8s.io/fingerprint:fingerprint topology.plimsoll.io/machine topology.plimsoll.io/free kubelet.koordinator.sh/cpu-manager-policy:{KoordletCpus}
KoordletCpus policy options:Amounts reservedCPUs
Written time
TopologyAttribute name:topologyManagerPolicy|topologyManagerScope|topologyManagerMaxNUMANodes|topologyManagerOptionPreferClosestNumaNodes|cpuManagerPolicy|cpuManagerPolicyOptions|memoryManagerPolicy|kubeletFeatureGates|reservedCPUs|kubeletVersion|kubeletState|nodeTopologyPodsFingerprintMethod|nodeTopologyPodsFingerprint value:attribute
Zone name type costs:Cost resources:ZoneResource
Cost name value
ZoneResource name capacity allocatable available
Device metadata:DeviceMeta spec:DeviceSpec
DeviceMeta +Meta labels:DeviceLabels annotations:DeviceAnnotations
DeviceLabels node.koordinator.sh/gpu-vendor node.koordinator.sh/gpu-model node.koordinator.sh/gpu-partition-policy node.koordinator.sh/secondary-device-well-planned
DeviceAnnotations scheduling.koordinator.sh/gpu-partitions:{Partitions} node.koordinator.sh/devices-checkpoints:{Checkpoint} node.koordinator.sh/gpu-checkpoints:{Checkpoint} plimsoll.io/device-links:{Links}
Partitions *:Partition
Partition minors gpuLinkType ringBusBandwidth allocationScore
Checkpoint podUID resourceName deviceIDs
Links *:Link
Link minors lanes bandwidth
DeviceSpec devices:DeviceInfo
DeviceInfo type minor health id moduleID labels:Labels resources:Amounts topology:DeviceTopology vfGroups:FunctionGroup
DeviceTopology socketID nodeID pcieID busID
FunctionGroup labels:Labels vfs:VirtualFunction
VirtualFunction minor busID
StorageClass metadata:ClassMeta provisioner reclaimPolicy volumeBindingMode allowedTopologies:TopologyTerm
ClassMeta +Meta annotations:ClassAnnotations
ClassAnnotations storageclass.kubernetes.io/is-default-class storageclass.beta.kubernetes.io/is-default-class
TopologyTerm matchLabelExpressions:Requirement
CSINode metadata:CsiNodeMeta spec:CsiNodeSpec
CsiNodeMeta +Meta annotations:CsiNodeAnnotations
CsiNodeAnnotations storage.alpha.kubernetes.io/migrated-plugins
CsiNodeSpec drivers:CsiNodeDriver
CsiNodeDriver name topologyKeys:key allocatable:CsiNodeLimit
CsiNodeLimit count
CSIDriver metadata:CsiDriverMeta spec:CsiDriverSpec
CsiDriverMeta name uid creationTimestamp deletionTimestamp
CsiDriverSpec storageCapacity preventPodSchedulingIfMissing
CSIStorageCapacity metadata:Meta storageClassName:name capacity maximumVolumeSize nodeTopology:LabelSelector
VolumeAttachment metadata:Meta spec:AttachmentSpec
AttachmentSpec attacher nodeName:name source:AttachmentSource
AttachmentSource persistentVolumeName:name
PersistentVolume metadata:VolumeMeta spec:PersistentVolumeSpec status:Phase
VolumeMeta +LabelledMeta annotations:VolumeAnnotations
VolumeAnnotations volume.beta.kubernetes.io/storage-class:name pv.kubernetes.io/bound-by-controller:there
PersistentVolumeSpec capacity:Storage accessModes storageClassName:name volumeMode volumeAttributesClassName:name persistentVolumeReclaimPolicy claimRef:ClaimReference nodeAffinity:VolumeAffinity csi:CsiSource gcePersistentDisk:GceDisk awsElasticBlockStore:ById azureDisk:AzureDisk azureFile:Nothing cinder:ById portworxVolume:ById vsphereVolume:VsphereVolume
Nothing
Storage storage
Phase phase
ClaimReference namespace:name name:name uid resourceVersion
VolumeAffinity required:NodeSelector
CsiSource driver volumeHandle:handle
PersistentVolumeClaim metadata:ClaimMeta spec:ClaimSpec status:Phase
ClaimMeta +Meta annotations:ClaimAnnotations ownerReferences:Owner
ClaimAnnotations volume.beta.kubernetes.io/storage-class:name volume.kubernetes.io/selected-node:name pv.kubernetes.io/bind-completed:there pv.kubernetes.io/bound-by-controller:there volume.kubernetes.io/storage-provisioner volume.beta.kubernetes.io/storage-provisioner
ClaimSpec accessModes storageClassName:name volumeMode volumeAttributesClassName:name volumeName:name selector:LabelSelector resources:Resources
PodDisruptionBudget metadata:Meta spec:BudgetSpec status:BudgetStatus
BudgetSpec selector:LabelSelector minAvailable maxUnavailable
BudgetStatus disruptionsAllowed disruptedPods:DisruptedPods
DisruptedPods *name
PriorityClass metadata:Meta value globalDefault preemptionPolicy
RuntimeClass metadata:Meta overhead:Overhead scheduling:RuntimeScheduling
Overhead podFixed:Amounts
RuntimeScheduling nodeSelector:Labels tolerations:Toleration
LimitRange metadata:Meta spec:LimitRangeSpec
LimitRangeSpec limits:Limit
Limit type max:Amounts min:Amounts default:Amounts defaultRequest:Amounts maxLimitRequestRatio:Amounts
Service metadata:Meta spec:MapSelector
ReplicationController metadata:Meta spec:MapSelector
MapSelector selector:Labels replicas
ReplicaSet metadata:Meta spec:PodSelector
StatefulSet metadata:Meta spec:PodSelector
PodSelector selector:LabelSelector replicas
PodGroup metadata:Meta spec:PodGroupSpec
PodGroupSpec minMember scheduleTimeoutSeconds schedulingPolicy:GroupPolicy schedulingConstraints:GroupConstraints priority preemptionPolicy disruptionMode:DisruptionMode
GroupPolicy basic:there gang:Gang
Gang minCount
GroupConstraints topology:GroupTopology
GroupTopology key:key
DisruptionMode single:there all:there
DeviceClass metadata:CsiDriverMeta spec:DeviceClassSpec
DeviceClassSpec selectors:DeviceSelector extendedResourceName
DeviceSelector cel:CelSelector
CelSelector expression
ResourceSlice metadata:Meta spec:SliceSpec
SliceSpec driver pool:SlicePool nodeName:name nodeSelector:NodeSelector allNodes perDeviceNodeSelection devices:SliceDevice sharedCounters:CounterSet
SlicePool name:name generation resourceSliceCount
SliceDevice name attributes:DeviceAttributes capacity:DeviceCapacities taints:DeviceTaint consumesCounters:CounterSet nodeName:name nodeSelector:NodeSelector allNodes allowMultipleAllocations bindsToNode bindingConditions bindingFailureConditions nodeAllocatableResources:DeviceFootprints
DeviceFootprints *:DeviceFootprint
DeviceFootprint mapping:FootprintMapping overhead:FootprintOverhead
FootprintMapping capacityKey capacityMultiplier deviceMultiplier
FootprintOverhead perPod perContainer
DeviceAttributes *:DeviceAttribute
DeviceAttribute int bool string version ints bools strings versions
DeviceCapacities *:DeviceCapacity
DeviceCapacity value requestPolicy:CapacityPolicy
CapacityPolicy default validValues validRange:CapacityRange
CapacityRange min max step
DeviceTaint key value effect
CounterSet name counterSet counters:DeviceCapacities
DeviceTaintRule metadata:Meta spec:TaintRuleSpec
TaintRuleSpec deviceSelector:TaintedDevices taint:DeviceTaint
TaintedDevices driver pool:name device
ResourceClaim metadata:ResourceClaimMeta spec:ResourceClaimSpec status:ResourceClaimStatus
ResourceClaimMeta +Meta annotations:ResourceClaimAnnotations ownerReferences:Owner finalizers
ResourceClaimAnnotations resource.kubernetes.io/extended-resource-claim
ResourceClaimSpec devices:DeviceAsks
DeviceAsks requests:DeviceAsk constraints:DeviceConstraint
DeviceAsk name exactly:ExactAsk firstAvailable:ExactAsk
ExactAsk name deviceClassName selectors:DeviceSelector allocationMode count adminAccess tolerations:DeviceToleration capacity:AskedCapacity
AskedCapacity requests:Amounts
DeviceToleration key operator value effect tolerationSeconds
DeviceConstraint requests matchAttribute distinctAttribute
ResourceClaimStatus allocation:ClaimAllocation reservedFor:ClaimUser devices:AllocatedDevice
ClaimAllocation devices:AllocatedDevices nodeSelector:NodeSelector allocationTimestamp
AllocatedDevices results:AllocatedResult
AllocatedResult request driver pool:name device adminAccess shareID consumedCapacity:Amounts bindingConditions bindingFailureConditions tolerations:DeviceToleration
ClaimUser apiGroup resource name:name uid
AllocatedDevice driver pool:name device conditions:DeviceCondition
DeviceCondition type status
ResourceClaimTemplate metadata:Meta spec:ResourceClaimTemplateSpec
ResourceClaimTemplateSpec spec:ResourceClaimSpec
Pod metadata:PodMeta spec:PodSpec status:PodStatus
PodMeta +LabelledMeta generation finalizers:key annotations:PodAnnotations ownerReferences:Owner
PodAnnotations topology.plimsoll.io/zones:{ZonesOfPod} scheduling.koordinator.sh/device-allocated:{DeviceAllocation} scheduling.koordinator.sh/device-allocate-hint:{DeviceHints} scheduling.koordinator.sh/device-joint-allocate:{JointAllocation} scheduling.koordinator.sh/gpu-partition-spec:{PartitionSpec} scheduling.koordinator.sh/numa-topology-spec:{NumaSpec} gang.scheduling.koordinator.sh/name:name gang.scheduling.koordinator.sh/min-available gang.scheduling.koordinator.sh/waiting-time gang.scheduling.koordinator.sh/groups:groups kubernetes.io/config.mirror:there sandbox.plimsoll.io/arrive-seconds sandbox.plimsoll.io/run-seconds
ZonesOfPod *name:ZonesOfContainer
ZonesOfContainer *
DeviceAllocation *:DeviceShare
DeviceShare minor resources:Amounts id extension:DeviceExtension
DeviceExtension vfs:VirtualFunction
DeviceHints *:DeviceHint
DeviceHint selector:LabelSelector vfSelector:LabelSelector allocateStrategy requiredTopologyScope exclusivePolicy
JointAllocation deviceTypes requiredScope
PartitionSpec allocatePolicy ringBusBandwidth
NumaSpec numaTopologyPolicy singleNUMANodeExclusive
PodSpec nodeName:name schedulerName priorityClassName:name priority preemptionPolicy runtimeClassName:name restartPolicy terminationGracePeriodSeconds hostNetwork hostUsers overhead:Amounts resources:Resources nodeSelector:Labels affinity:Affinity tolerations:Toleration topologySpreadConstraints:SpreadConstraint schedulingGates:Named resourceClaims:PodClaim schedulingGroup:SchedulingGroup volumes:Volume containers:Container initContainers:Container
Named name:name
PodClaim name:name resourceClaimName:name resourceClaimTemplateName:name
SchedulingGroup podGroupName:name
Container name:name image:image ports:Port resources:Resources restartPolicy restartPolicyRules:RestartRule volumeMounts:Mount
Port containerPort hostPort hostIP:address protocol
RestartRule action
Mount bindMountOptions:there
Affinity nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAffinity
NodeAffinity requiredDuringSchedulingIgnoredDuringExecution:NodeSelector preferredDuringSchedulingIgnoredDuringExecution:PreferredNodes
NodeSelector nodeSelectorTerms:NodeTerm
PreferredNodes weight preference:NodeTerm
NodeTerm matchExpressions:Requirement matchFields:FieldRequirement
FieldRequirement key operator values:name
PodAffinity requiredDuringSchedulingIgnoredDuringExecution:PodTerm preferredDuringSchedulingIgnoredDuringExecution:PreferredPods
PreferredPods weight podAffinityTerm:PodTerm
PodTerm labelSelector:LabelSelector namespaceSelector:LabelSelector namespaces:name topologyKey:key matchLabelKeys:key mismatchLabelKeys:key
Toleration key:key operator value:value effect tolerationSeconds
SpreadConstraint maxSkew minDomains topologyKey:key whenUnsatisfiable labelSelector:LabelSelector matchLabelKeys:key nodeAffinityPolicy nodeTaintsPolicy
Volume name:name persistentVolumeClaim:ClaimVolume ephemeral:EphemeralVolume csi:InlineCsi image:ImageVolume iscsi:Iscsi rbd:Rbd gcePersistentDisk:GceDisk awsElasticBlockStore:ById azureDisk:AzureDisk azureFile:Nothing cinder:ById portworxVolume:ById vsphereVolume:VsphereVolume
ClaimVolume claimName:name readOnly
EphemeralVolume volumeClaimTemplate:ClaimTemplate
ClaimTemplate metadata:ClaimTemplateMeta spec:ClaimSpec
ClaimTemplateMeta annotations:ClaimAnnotations
InlineCsi driver readOnly
ImageVolume reference:image
Iscsi iqn:name readOnly
Rbd pool:name image:name monitors:address readOnly
GceDisk pdName:handle readOnly
ById volumeID:handle readOnly
AzureDisk diskURI:handle kind readOnly
VsphereVolume volumePath:handle readOnly
PodStatus phase qosClass nominatedNodeName:name reason startTime resourceClaimStatuses:PodClaim extendedResourceClaimStatus:ExtendedClaim nodeAllocatableResourceClaimStatuses:ClaimAmounts conditions:PodCondition containerStatuses:ContainerStatus initContainerStatuses:ContainerStatus resources:Resources allocatedResources:Amounts
PodCondition type:PodScheduled|DisruptionTarget|PodResizePending|Ready status reason
ContainerStatus name:name resources:Resources allocatedResources:Amounts
ExtendedClaim resourceClaimName:name
ClaimAmounts resourceClaimName:name containers:name mapping:ClaimAmount overhead:ClaimAmount
ClaimAmount name quantity perPod perContainer
)";

}  // namespace plimsoll::cli
