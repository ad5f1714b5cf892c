{{- define "plimsoll.name" -}}
{{- .Values.nameOverride | default .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- end -}}

{{- define "plimsoll.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "plimsoll.name" .) -}}
{{- end -}}

{{- define "plimsoll.selector" -}}
app.kubernetes.io/name: plimsoll
app.kubernetes.io/instance: {{ include "plimsoll.name" . }}
{{- end -}}

{{- define "plimsoll.imageOf" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .version }}
{{- end -}}
{{- end -}}

{{- define "plimsoll.profile" -}}
{{- .Values.profile | default (.Files.Get "files/profile.yaml") -}}
{{- end -}}

{{/* What follows from the profile, as JSON: the "plugins" that some of its profiles use; "spreads": pods that say nothing are
spread by their controllers; "lease" and "leaseNamespace" of leader election; "mark": the first schedulerName; "leases": the
names of leases by namespace that old and new replicas hold while one release follows another, those of the replicas that run
now included; "moves": these elect their leader by another lease, or by none. */}}
{{- define "plimsoll.facts" -}}
{{- $text := include "plimsoll.profile" . -}}
{{- $config := fromYaml $text -}}
{{- if or (hasKey $config "Error") (ne (get $config "kind" | toString) "KubeSchedulerConfiguration") -}}
{{- fail (printf "profile: not a KubeSchedulerConfiguration; give the text of a profile file (--set-file profile=FILE), and see what `plimsoll validate FILE` says: %v" (get $config "Error" | default "its kind is another")) -}}
{{- end -}}
{{- $kubeconfig := ($config.clientConnection | default dict).kubeconfig -}}
{{- if and $kubeconfig (not .Values.extraVolumeMounts) -}}
{{- fail (printf "profile: clientConnection.kubeconfig names %s, which the container does not have; leave it out, so that the pod's service account is used" $kubeconfig) -}}
{{- end -}}
{{- $defaults := list "VolumeRestrictions" "NodeVolumeLimits" "VolumeBinding" "VolumeZone" "PodTopologySpread" "InterPodAffinity" "DynamicResources" "DefaultPreemption" "GangScheduling" -}}
{{- $plugins := dict -}}
{{- $facts := dict "spreads" false "servesDefault" false "moves" false "mark" "default-scheduler" -}}
{{- $profiles := $config.profiles | default (list (dict)) -}}
{{- range $index, $profile := $profiles -}}
{{- $scheduler := $profile.schedulerName | default "default-scheduler" -}}
{{- if eq $index 0 }}{{ $_ := set $facts "mark" $scheduler }}{{ end -}}
{{- if eq $scheduler "default-scheduler" }}{{ $_ := set $facts "servesDefault" true }}{{ end -}}
{{- $sets := $profile.plugins | default dict -}}
{{- $off := list -}}
{{- range (($sets.multiPoint | default dict).disabled | default list) }}{{ $off = append $off .name }}{{ end -}}
{{- $own := dict -}}
{{- range $defaults -}}
{{- if not (or (has . $off) (has "*" $off)) }}{{ $_ := set $own . true }}{{ end -}}
{{- end -}}
{{- range $point, $set := $sets -}}
{{- /* DeviceShare is Koordinator's name for NodeDevice. */ -}}
{{- range (($set | default dict).enabled | default list) }}{{ $_ := set $own (eq .name "DeviceShare" | ternary "NodeDevice" .name) true }}{{ end -}}
{{- end -}}
{{- $args := dict -}}
{{- range ($profile.pluginConfig | default list) }}{{ $_ := set $args .name (.args | default dict) }}{{ end -}}
{{- range $name, $_ := $own }}{{ $_ := set $plugins $name true }}{{ end -}}
{{- if hasKey $own "PodTopologySpread" -}}
{{- $spread := get $args "PodTopologySpread" | default dict -}}
{{- if or (ne ($spread.defaultingType | default "System") "List") $spread.defaultConstraints }}{{ $_ := set $facts "spreads" true }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $election := $config.leaderElection | default dict -}}
{{- $lease := .Values.leaderElection.resourceName | default $election.resourceName -}}
{{- $namespace := .Values.leaderElection.resourceNamespace | default $election.resourceNamespace -}}
{{- if and (not $lease) $facts.servesDefault }}{{ $lease = "kube-scheduler" }}{{ $namespace = $namespace | default "kube-system" }}{{ end -}}
{{- $lease = $lease | default (include "plimsoll.name" .) -}}
{{- $namespace = $namespace | default .Release.Namespace -}}
{{- $elects := .Values.leaderElection.enabled -}}
{{- range .Values.extraArgs -}}
{{- if or (eq . "--leader-elect") (hasPrefix "--leader-elect=" .) (hasPrefix "--leader-elect-resource-" .) -}}
{{- fail (printf "extraArgs: %s: rights and strategy follow from leaderElection.enabled, .resourceName and .resourceNamespace; set those" .) -}}
{{- end -}}
{{- end -}}
{{- $shares := and $elects (eq (printf "%s/%s" $namespace $lease) "kube-system/kube-scheduler") -}}
{{- if and $facts.servesDefault (not $shares) (not (has "--without-kube-scheduler" .Values.extraArgs)) -}}
{{- fail (printf "profile: it serves the pods of default-scheduler, and so does kube-scheduler: elect the leader by kube-scheduler's own lease, kube-system/kube-scheduler (here: %s), or, if no kube-scheduler runs in this cluster, say so with extraArgs=[--without-kube-scheduler]" ($elects | ternary (printf "%s/%s" $namespace $lease) "leaderElection.enabled=false")) -}}
{{- end -}}
{{- $leases := dict $namespace (list $lease) -}}
{{- if eq $namespace .Release.Namespace }}{{ $_ := set $leases $namespace (list $lease (include "plimsoll.name" .) | uniq) }}{{ end -}}
{{- $running := lookup "apps/v1" "Deployment" .Release.Namespace (include "plimsoll.name" .) -}}
{{- if $running -}}
{{- $before := dict "--leader-elect" "true" -}}
{{- range (first $running.spec.template.spec.containers).args -}}
{{- $words := splitn "=" 2 . -}}
{{- if hasPrefix "--leader-elect" $words._0 }}{{ $_ := set $before $words._0 ($words._1 | default "true") }}{{ end -}}
{{- end -}}
{{- $oldNamespace := get $before "--leader-elect-resource-namespace" | default $namespace -}}
{{- $oldLease := get $before "--leader-elect-resource-name" | default $lease -}}
{{- $_ := set $leases $oldNamespace (append (get $leases $oldNamespace | default list) $oldLease | uniq) -}}
{{- $same := and (eq $oldNamespace $namespace) (eq $oldLease $lease) (eq (get $before "--leader-elect") (toString $elects)) -}}
{{- if not $same }}{{ $_ := set $facts "moves" true }}{{ end -}}
{{- end -}}
{{- $_ := set $facts "plugins" (keys $plugins | sortAlpha) -}}
{{- $_ := set $facts "lease" $lease -}}
{{- $_ := set $facts "leaseNamespace" $namespace -}}
{{- $_ := set $facts "leases" $leases -}}
{{- toJson $facts -}}
{{- end -}}
