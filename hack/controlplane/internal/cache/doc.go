// SPDX-License-Identifier: Apache-2.0

// Package cache is the folder outside the checkout that keeps what is built and
// fetched, so that clones share it. It must never be written without its lock.
// Start reading at [Root].
package cache
