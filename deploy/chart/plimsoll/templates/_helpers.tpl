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

{{- define "plimsoll.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "plimsoll.profile" -}}
{{- .Values.profile | default (.Files.Get "files/profile.yaml") -}}
{{- end -}}

{{/* What follows from the profile, as JSON: the "plugins" that some of its profiles use; "spreads": pods that say nothing are
spread by their controllers; "lease" and "leaseNamespace" of leader election; "mark": the first schedulerName. */}}
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
{{- $defaults := list "VolumeRestrictions" "NodeVolumeLimits" "VolumeBinding" "VolumeZone" "PodTopologySpread" "InterPodAffinity" "DefaultPreemption" -}}
{{- $plugins := dict -}}
{{- $facts := dict "spreads" false "servesDefault" false "mark" "default-scheduler" -}}
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
{{- $_ := set $facts "plugins" (keys $plugins | sortAlpha) -}}
{{- $_ := set $facts "lease" ($lease | default (include "plimsoll.name" .)) -}}
{{- $_ := set $facts "leaseNamespace" ($namespace | default .Release.Namespace) -}}
{{- toJson $facts -}}
{{- end -}}
