// SPDX-License-Identifier: Apache-2.0

// Package connect connects commands to a cluster by kubectl's flags, completes names from
// it, and says what to do when it can't be reached. It never changes a cluster. Start
// reading at Flags.
package connect
