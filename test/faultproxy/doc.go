// SPDX-License-Identifier: Apache-2.0

// Package faultproxy stands between the manager and the API server: it counts
// and records every write, and can lose, delay or refuse requests, lose answers,
// answer with something old, and run a hook in between. What isn't meant by a
// fault passes unchanged, watches included. It must never change the body of a
// write. Start reading at Proxy and Fault.
package faultproxy
