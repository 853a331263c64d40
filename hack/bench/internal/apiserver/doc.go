// SPDX-License-Identifier: Apache-2.0

// Package apiserver serves as much of Kubernetes' API as a scan asks for: discovery, lists in pages, watches that begin
// with a list and end it with a bookmark, creation, and merge patches. Objects of a kind are generated as they are
// sent, so that a hundred thousand of them take no memory, or kept, where clients create them. It counts what is asked
// of it. It knows no permissions and validates nothing. Start at Server.
package apiserver
