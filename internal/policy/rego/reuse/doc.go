// SPDX-License-Identifier: Apache-2.0

// Package reuse remembers which inputs a policy has judged, without keeping them.
package reuse
