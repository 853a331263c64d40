// SPDX-License-Identifier: Apache-2.0

// Package pki issues the keys and certificates of one throw-away control
// plane. It keeps no state beyond the files it writes and must never be used
// for anything that outlives a test. Start reading at [Authority].
package pki
