// SPDX-License-Identifier: Apache-2.0

// Package request is how commands ask something of a running plan, breaker or source: a
// merge patch with a reason, for admission to record who asked. It never asks twice.
// Start reading at Spec.
package request
