// SPDX-License-Identifier: Apache-2.0

// Package access says what a PolicySource may use of the cluster: in which namespaces it
// may stand, and the Secrets that it names. It never keeps a Secret, and never reads one
// that no source names. Start reading at Secrets.
package access
