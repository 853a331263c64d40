// SPDX-License-Identifier: Apache-2.0

// Package controlplane starts and stops a real Kubernetes control plane on the
// loopback address: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and KWOK, which plays the nodes and their kubelets. It must
// never touch a folder or a process that isn't an instance's own, and nothing
// that a crash leaves behind may block the next start. It's for demos and
// tests: data is not synced to disk. Start reading at [Start] and [Instance].
package controlplane
