// SPDX-License-Identifier: Apache-2.0

package journeys_test

// row says of a runbook's command in which situation it is run, and what it must print then.
type row struct {
	command, in, says string
	// names is the object that it must name, if it is about one.
	names string
	// by is who runs it; whoever is on call, if it isn't said, with ClusterRole evenkeel-operator and nothing else.
	by reader
	// code is how it ends.
	code int
	// not says why it can't be run.
	not string
}

// reader is one of the people who follow a runbook.
type reader string

const (
	onCall        reader = ""
	approver      reader = "approver"
	administrator reader = "administrator"
)

// rows are the runbooks' commands, page by page, in their order: a page's later commands find what its earlier ones
// have done.
func rows() map[string][]row {
	const slices = `kubectl get remediationslices -l evenkeel.dev/remediation-name=NAME`
	const logs = `kubectl logs -n evenkeel-system -l app.kubernetes.io/name=evenkeel`
	// each says of each target that a filter of jq selects what became of it.
	each := func(filter, in, names, says string) row {
		return row{command: slices + ` -o json | jq -r '.items[] | [.targets, .records] | transpose[] | select(` + filter +
			`) | "\(.[0].object.kind) \(.[0].object.namespace // "")/\(.[0].object.name): \(.[1].state) ` +
			`\(.[1].reason): \(.[1].message)"'`, in: in, names: names, says: says}
	}
	soften := func(situation string) row {
		return row{command: `evenkeel policy override NAME --enforcement Warn --for 2h --reason "INC-42"`, in: situation,
			says: "overridden to Warn"}
	}
	giveUp := func(situation string) row {
		return row{command: `evenkeel rollout abort NAME --reason REASON`, in: situation, says: "abort"}
	}
	inspect := func(command, says string) row { return row{command: command, says: says, by: administrator} }
	return map[string][]row{
		"admission-evaluation-errors": {
			soften("endless"),
			{command: `kubectl patch rego NAME --type=merge -p '{"spec":{"admission":{"failurePolicy":"Ignore"}}}'`,
				in: "endless", says: "patched", by: administrator},
			{command: `kubectl describe rego NAME`, in: "endless", says: "stopped at its time limit"},
		},
		"admission-overloaded": {soften("endless")},
		"admission-unread":     {soften("endless")},
		"analysis-inconclusive": {
			{command: `kubectl get remediation NAME -o jsonpath='{.status.message}{"\n"}'`, in: "unmeasured",
				says: "ask Prometheus"},
			{command: `kubectl get remediation NAME -o jsonpath='{range .status.analysis[*]}{.name}: {.verdict}: ` +
				`{.message}{"\n"}{end}'`, in: "unmeasured", says: "errors: Inconclusive: "},
			{command: `evenkeel rollout abort NAME`, in: "unmeasured", says: "abort"},
		},
		"approval-overdue": {
			{command: `kubectl get remediation NAME -o wide`, in: "unanswered", says: "AwaitingApproval"},
			{command: slices + ` -o yaml`, in: "unanswered", says: "proposal:"},
			{command: `evenkeel rollout approve NAME --comment "why"`, in: "unanswered", says: "approve",
				by: approver},
			inspect(`kubectl get clusterrolebindings -o wide | grep evenkeel-approver`, "kim"),
			{command: `kubectl patch remediation`, not: "the next prints the whole line, of which it is the beginning"},
			{command: `kubectl get remediation NAME -o jsonpath='{.status.message}'`, in: "unanswered too",
				says: "kubectl patch remediation"},
			giveUp("unanswered too"),
		},
		"breaker-open": {
			{command: `kubectl get remediationbreakers -o wide`, says: "CanaryFailed"},
			{command: `evenkeel breaker history NAME`, in: "forced", says: "ForceOpen"},
			{command: `evenkeel breaker reset NAME --reason "the registry is back"`, in: "open breaker", says: "reset"},
			{command: `kubectl patch remediationbreaker NAME --type=merge -p "{\"spec\":{\"resetToken\":\"$(date +%s)\",` +
				`\"reason\":\"the registry is back\"}}"`, in: "open breaker", says: "patched"},
			{command: `kubectl patch remediationbreaker NAME --type=merge -p '{"spec":{"mode":"Automatic","reason":"it is ` +
				`over"}}'`, in: "forced", says: "patched"},
			{command: `kubectl get remediations`, says: "RolledBack"},
			{command: `kubectl get remediationbreaker NAME -o jsonpath='{.status.slo}'`, in: "no objective",
				says: "ask Prometheus"},
			{command: `evenkeel breaker close NAME --reason "..."`, in: "forced too", says: "no longer held open"},
		},
		"credentials-refused": {
			inspect(`kubectl get pods -n evenkeel-system`, "Running"),
			inspect(logs+` --tail=100 --previous | grep 401`, "credentials"),
			{command: `kubectl get serviceaccount evenkeel -n evenkeel-system`, says: "evenkeel"},
		},
		"escalation-failing": {inspect(logs+` | grep -i alertmanager`, "127.0.0.1")},
		"managed-by-other": {
			{command: `kubectl get remediationslices -l evenkeel.dev/policy=POLICY -o json | jq -r '.items[] | [.targets, ` +
				`.records] | transpose[] | select(.[1].proposal) | .[1].proposal'`, in: "managed", says: "good"},
			{command: `kubectl get KIND NAME -n NAMESPACE -o yaml --show-managed-fields`, in: "managed",
				says: "managedFields", by: administrator},
		},
		"manager-down": {
			inspect(`kubectl get pods,leases -n evenkeel-system`, "evenkeel-leader"),
			inspect(logs+` --tail=100`, "evenkeel"),
		},
		"policy-demoted": {
			{command: `kubectl get remediationbreaker policy-POLICY -o yaml`, in: "demoted", says: "demoted:"},
			{command: `kubectl get remediations`, says: "RolledBack"},
			{command: `evenkeel breaker reset policy-POLICY --reason "the registry is back"`, in: "demoted", says: "reset"},
		},
		"policy-not-compiling": {
			soften("no template"),
			{command: `kubectl patch rego NAME --type=merge -p '{"spec":{"admission":{"failurePolicy":"Ignore"}}}'`,
				in: "no template", says: "patched", by: administrator},
			{command: `kubectl describe rego NAME`, in: "no template", says: "TemplateNotFound"},
			{command: `evenkeel test DIRECTORY`, in: "broken directory", says: "broken.rego:5", code: 1},
		},
		"policy-overridden": {
			{command: `kubectl get policyoverrides`, says: "Warn"},
			{command: `kubectl get policyoverride NAME -o jsonpath='{.metadata.annotations.evenkeel\.dev/requests}'`, in: "overridden", says: "INC-42"},
			{command: `evenkeel policy override NAME --clear`, in: "overridden", says: "no longer overridden"},
			{command: `evenkeel policy override`, not: "it is only named"},
		},
		"policy-slow": {
			{command: `kubectl describe rego NAME`, in: "endless", says: "stopped at its time limit"},
			soften("endless"),
		},
		"remediation-failed-targets": {
			{command: `evenkeel rollout get NAME`, in: "failed", names: "ConfigMap POLICY/target-0: ",
				says: "FixIneffective: "},
			each(`.[1].state == "Failed"`, "failed", "ConfigMap POLICY/target-0: ", "Failed FixIneffective: "),
			{command: `evenkeel rollout retry NAME`, in: "failed", says: "again"},
			{command: `evenkeel test DIRECTORY`, in: "broken directory", says: "broken.rego:5", code: 1},
		},
		"remediation-held": {
			{command: `kubectl get remediation NAME -o wide`, in: "no permission", says: "MissingPermissions"},
			{command: `evenkeel rbac --in-force --existing | kubectl apply -f -`, says: "clusterrole", code: 1,
				by: administrator},
			{command: `kubectl get remediations`, says: "Held"},
			{command: `evenkeel rollout override-windows NAME --reason REASON`, in: "outside its window",
				says: "window"},
			{command: `evenkeel rollout resume NAME`, in: "paused", says: "resumed"},
			giveUp("no permission"),
		},
		"remediation-no-progress": {
			{command: `kubectl get remediation NAME -o wide`, in: "retrying", says: "unlucky"},
			each(`.[1].state == "Pending" and .[1].reason`, "retrying", "ConfigMap POLICY/target-",
				"Pending Retrying: "),
			{command: `kubectl get remediations`, says: "Held"},
			giveUp("retrying"),
		},
		"remediation-rolled-back": {
			{command: `evenkeel rollout get NAME`, in: "rolled back", names: "Deployment POLICY/web: ",
				says: "running, not ready"},
			{command: `kubectl get remediation NAME -o jsonpath='{range .status.evidence[*]}{.object.name}: ` +
				`{.findings}{"\n"}{end}'`, in: "rolled back", names: "web: [",
				says: "running, not ready"},
			{command: `kubectl get remediation NAME -o wide`, in: "rolled back", says: "VerificationFailed"},
			each(`.[1].reason`, "rolled back", "Deployment POLICY/web: ", "Reverted DeadlineExceeded: "),
			{command: `evenkeel rollout retry NAME`, in: "rolled back", says: "again"},
		},
		"remediation-stuck": {
			{command: `kubectl describe remediation NAME`, in: "stuck", says: "RollingBack"},
			each(`.[1].message`, "stuck", "Deployment POLICY/web: ", "not undone yet"),
		},
		"rollback-incomplete": {
			{command: slices + ` -o json`, in: "incomplete", says: `"RevertConflict"`},
			{command: `evenkeel rollout retry NAME`, in: "incomplete", says: "again"},
		},
		"reference-unknown": {
			{command: `kubectl get rego NAME -o jsonpath='{.status.conditions[?(@.type=="ReferencesKnown")].message}'`,
				in: "unknown reference", says: "Gadget of group nowhere.example.com isn't served"},
			soften("unknown reference"),
		},
		"requests-unguarded": {
			{command: `evenkeel doctor`, says: "PolicyBinding evenkeel-overrides isn't there", code: 1},
			{command: `kubectl apply --server-side -f config/rbac/requests_policy.yaml`,
				not: "test/config installs the manifest"},
		},
		"scan-incomplete": {{command: `kubectl describe rego NAME`, in: "unserved", says: "Incomplete"}},
		"scan-stale": {
			{command: `kubectl get rego -o wide`, says: "Incomplete"},
			{command: `kubectl get rego -o jsonpath='{range .items[*].status.scan.incomplete[*]}{.kind}: {.message}{"\n"}` +
				`{end}'`, says: "Widget: "},
		},
		"source-failing": {
			{command: `evenkeel policy override POLICY --enforcement Warn --for 2h --reason REASON`,
				in: "source", says: "overridden to Warn"},
			{command: `evenkeel source get NAME -n NAMESPACE`, in: "failing source", says: "NotCompiling", code: 1},
			{command: `kubectl describe policysource NAME -n NAMESPACE`, in: "failing source", says: "NotCompiling"},
			{command: `evenkeel test DIRECTORY`, in: "broken directory", says: "broken.rego:5", code: 1},
			{command: `evenkeel source reconcile NAME -n NAMESPACE`, in: "failing source", says: "is to be reconciled"},
		},
		"source-stale": {
			{command: `evenkeel source get NAME -n NAMESPACE`, in: "source", says: "in force"},
			{command: `kubectl get lease evenkeel-leader -n evenkeel-system`, says: "evenkeel-leader"},
			{command: `evenkeel source reconcile NAME -n NAMESPACE --wait`, in: "source", says: "in force"},
		},
		"wave-failed": {
			{command: `evenkeel rollout get NAME`, in: "failed wave", says: "running, not ready"},
			{command: `evenkeel rollout abort NAME`, in: "failed wave", says: "abort"},
			{command: `evenkeel rollout retry NAME`, in: "failed wave too", says: "verified once more"},
		},
		"webhook-certificate-expiring": {
			inspect(logs+` | grep -i certificate`, "certificate"),
			inspect(`kubectl describe certificates,issuers -n evenkeel-system`, "evenkeel-webhook-ca"),
			inspect(`kubectl get secrets -n evenkeel-system`, "evenkeel-webhook-cert"),
			{command: `cmctl renew -n evenkeel-system evenkeel-webhook`, not: "cert-manager's own command"},
			inspect(`kubectl delete secret -n evenkeel-system evenkeel-webhook-cert`, "deleted"),
		},
		"webhook-contested": {
			inspect(`kubectl get events -A --field-selector reason=WebhookRestored`, "Somebody has changed it"),
			{command: `kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations evenkeel -o ` +
				`jsonpath='{range .items[*]}{.kind}:{range .metadata.managedFields[*]} {.manager} at {.time};{end}{"\n"}` +
				`{end}'`, says: "the-other-writer at 2"},
		},
		"webhook-narrowed": {{command: `evenkeel doctor`, says: "somebody has narrowed an entry", code: 1}},
	}
}
