// SPDX-License-Identifier: Apache-2.0

// Package toolchain builds the programs of a local control plane from the Go
// modules in hack/components and keeps them in a cache folder outside the
// checkout, keyed by version. It never writes inside the checkout and never
// leaves a half-written program in the cache. Start reading at [Toolchain].
package toolchain
