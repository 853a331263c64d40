// SPDX-License-Identifier: Apache-2.0

// Package kubeapi is the little of a Kubernetes client that starting a control
// plane needs: authenticated JSON over HTTPS. It knows no types and keeps no
// cache. Start reading at [Client].
package kubeapi
