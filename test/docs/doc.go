// SPDX-License-Identifier: Apache-2.0

// Package docs holds the tests that keep the documentation true to the code. It
// has no code of its own. Start at TestEveryEventAndMetricIsDocumented.
package docs
