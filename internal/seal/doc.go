// SPDX-License-Identifier: Apache-2.0

// Package seal proves that plans and records are the manager's own. Each carries a
// message authentication code whose key lies in a Secret of the manager's namespace:
// whoever may write Remediations and RemediationSlices, even while admission is away,
// can't make one that passes for the manager's. Nor can they bring an earlier one
// back: a Secret beside the key remembers how far each plan's records have come.
//
// It knows what is sealed and nothing of rollouts. It must never seal what it hasn't
// been given by the manager itself. Start at Client.
package seal
