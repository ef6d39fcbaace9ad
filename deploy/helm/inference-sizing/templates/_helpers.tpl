{{- define "sizing.name" -}}
{{- if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{- end -}}
{{- end }}

{{- define "sizing.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sizing.labels" -}}
{{ include "sizing.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "sizing.replicas" -}}
{{- if .Values.autoscaling.enabled }}{{ .Values.autoscaling.minReplicas }}{{ else }}{{ .Values.replicas }}{{ end }}
{{- end }}

{{- /* What cannot work is refused before anything is installed. */}}
{{- define "sizing.checked" -}}
{{- if and (not .Values.database.secret) (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) -}}
{{- fail "Several replicas need one library: name a secret with the address of a PostgreSQL in database.secret, or set replicas: 1." -}}
{{- end -}}
{{- if and (not .Values.login.secret) (not .Values.withoutLogin) -}}
{{- fail "Nobody could log in: name a secret with secrets.toml in login.secret (docs/ACCESS.md), or set withoutLogin: true, which lets whoever reaches it do everything." -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is larger than autoscaling.maxReplicas." -}}
{{- end -}}
{{- end }}
