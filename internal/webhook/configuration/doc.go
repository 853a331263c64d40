// SPDX-License-Identifier: Apache-2.0

// Package configuration keeps the webhook configurations of the cluster in step with the
// policies in force: what the API server asks about, whom it asks and whom it trusts.
//
// What others add that only narrows an entry is kept and told; all else is restored, ever
// more slowly while somebody goes on changing it. It must never have the API server ask
// where nobody answers. Start reading at Writer, then Generator (what is to be there).
package configuration
