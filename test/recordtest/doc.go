// SPDX-License-Identifier: Apache-2.0

// Package recordtest keeps plans and their slices in memory, for tests.
package recordtest
