//go:build tools

// Package deploy pins the programs with which the tests of the manifests do what a user does. Nothing imports it: the imports
// keep both programs in go.mod and their sums in go.sum.
package deploy

import (
	_ "helm.sh/helm/v3/cmd/helm"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
