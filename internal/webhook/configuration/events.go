// SPDX-License-Identifier: Apache-2.0

package configuration

// Reasons of the events on the webhook configurations, part of the API: alerts and
// scripts match on them.
const (
	// ReasonWebhookNarrowed: somebody has added selectors or conditions to an entry,
	// and they are kept, so some requests aren't judged.
	ReasonWebhookNarrowed = "WebhookNarrowed"
	// ReasonWebhookRestored: somebody has changed an entry otherwise, and it was written
	// again as the policies need it.
	ReasonWebhookRestored = "WebhookRestored"
)
