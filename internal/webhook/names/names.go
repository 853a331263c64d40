// SPDX-License-Identifier: Apache-2.0

package names

// Names in the cluster.
const (
	// Configuration is the one ValidatingWebhookConfiguration, and the one
	// MutatingWebhookConfiguration.
	Configuration = "evenkeel"
	// WebhookFail is called for policies that fail closed.
	WebhookFail = "fail.evenkeel.dev"
	// WebhookIgnore is called for policies that fail open.
	WebhookIgnore = "ignore.evenkeel.dev"
	// WebhookPolicies is called for policies themselves.
	WebhookPolicies = "clusterregopolicies.evenkeel.dev"
	// WebhookTemplates is called for templates themselves.
	WebhookTemplates = "regotemplates.evenkeel.dev"
	// WebhookWaivers and WebhookClusterWaivers are called for waivers themselves.
	WebhookWaivers        = "waivers.evenkeel.dev"
	WebhookClusterWaivers = "clusterwaivers.evenkeel.dev"
	// WebhookStrategies is called for the strategies that policies share.
	WebhookStrategies = "remediationstrategies.evenkeel.dev"
	// WebhookRecords checks what people ask of plans, and their answers.
	WebhookRecords = "records.evenkeel.dev"
	// WebhookBreakers refuses what people ask of a breaker without their name.
	WebhookBreakers = "breakers.evenkeel.dev"
	// WebhookOverrides checks what people override of policies.
	WebhookOverrides = "policyoverrides.evenkeel.dev"
	// WebhookDeletions is called for deletions of policies that a PolicySource keeps.
	WebhookDeletions = "deletions.evenkeel.dev"
	// WebhookAuthor fills in who wrote a policy.
	WebhookAuthor = "author.evenkeel.dev"
	// WebhookTemplateAuthor fills in who wrote a template.
	WebhookTemplateAuthor = "template-author.evenkeel.dev"
	// WebhookStrategyAuthor fills in who wrote a strategy that policies share.
	WebhookStrategyAuthor = "strategy-author.evenkeel.dev"
	// WebhookForceOpen fills in who held a circuit breaker open, the kill switch.
	WebhookForceOpen = "force-open.evenkeel.dev"
	// WebhookBreakerRequests fills in who asked anything else of a circuit breaker.
	WebhookBreakerRequests = "breaker-requests.evenkeel.dev"
	// WebhookPlanRequests fills in who asked what of a plan, or answered it.
	WebhookPlanRequests = "plan-requests.evenkeel.dev"
	// WebhookOverrideRequests fills in who overrides a policy.
	WebhookOverrideRequests = "override-requests.evenkeel.dev"
)

// The paths that the webhook server serves.
const (
	PathFail   = "/validate/fail"
	PathIgnore = "/validate/ignore"
	PathPolicy = "/validate/policy"
	// PathTemplate checks templates themselves.
	PathTemplate = "/validate/template"
	// PathStrategy checks the strategies that policies share.
	PathStrategy = "/validate/strategy"
	// PathWaiver checks waivers themselves.
	PathWaiver = "/validate/waiver"
	// PathRecords keeps to the manager what is the manager's.
	PathRecords = "/validate/records"
	// PathOverride checks overrides of policies.
	PathOverride = "/validate/override"
	// PathDeletion warns of deletions that won't last.
	PathDeletion = "/validate/deletion"
	// PathStamp fills in who makes a request.
	PathStamp = "/mutate/stamp"
)

// The label on what the manager makes, and its value.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "evenkeel"
)
