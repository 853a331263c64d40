// SPDX-License-Identifier: Apache-2.0

// Package scan judges what lives in the cluster. For every kind that a policy in
// force concerns it lists and watches the objects, judges each as it arrives, and
// keeps the verdict, not the body. The room index answers which objects violate a
// policy, listing reads them; the status of each policy, metrics and events are written from it. It also
// says of each Waiver whether it holds, and judges anew when one ends.
//
// A figure is never shown as current when it isn't: a kind that can't be listed
// and watched makes its policies Incomplete. The package must never write to the
// objects that it judges, and it must never drop an evaluation error.
//
// Start at Controllers, then index.Index (what is known), Scanner (which kinds are scanned)
// and kindScan (how one kind is).
package scan
