// SPDX-License-Identifier: Apache-2.0

// Package neighbours plays what stands around Evenkeel in the demo: the shop,
// whose metrics Prometheus scrapes, and the people on call, whom Alertmanager
// tells. Start reading at [Neighbours].
package neighbours
