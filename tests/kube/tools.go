//go:build tools

// Package kube pins the programs that the end-to-end tests run: a real kube-apiserver and etcd.
// Nothing imports it: the imports keep both programs in go.mod and their sums in go.sum.
package kube

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
)
