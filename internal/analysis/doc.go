// SPDX-License-Identifier: Apache-2.0

// Package analysis asks Prometheus. A query must answer with exactly one finite
// number; whatever else it answers, and every failure to ask, is an error, so
// that nobody takes silence for good news. The package must never judge an answer
// (internal/canary does) and never keep one. Start reading at Client.
package analysis
