// SPDX-License-Identifier: Apache-2.0

// Package output prints what commands found, in the format that -o asks for. It never
// decides how a table looks: that is the command's. Start reading at Flag.
package output
