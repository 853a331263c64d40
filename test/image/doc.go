// SPDX-License-Identifier: Apache-2.0

// Package image proves the image itself: it is built as `make image` builds it, unpacked,
// and the manager runs out of its root file system as a kubelet would run it by the
// manifests, in namespaces of its own, against a real control plane. It must never reach
// a registry. Start at suite_test.go.
package image
