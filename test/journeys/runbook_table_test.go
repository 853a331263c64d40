// SPDX-License-Identifier: Apache-2.0

package journeys_test

// row says of a runbook's command in which situation it is run, and what it must print then.
type row struct {
	command, in, says string
	// code is how it ends.
	code int
	// not says why it can't be run.
	not string
}

// rows are the runbooks' commands, page by page, in their order: a page's later commands find what its earlier ones
// have done.
func rows() map[string][]row {
	const slices = `kubectl get remediationslices -l evenkeel.dev/remediation-name=NAME`
	const logs = `kubectl logs -n evenkeel-system -l app.kubernetes.io/name=evenkeel`
	return map[string][]row{
		"admission-evaluation-errors": {
			{command: `evenkeel policy override NAME --enforcement Warn --for 2h --reason "INC-42"`, in: "endless",
				says: "overridden to Warn"},
			{command: `kubectl patch rego NAME --type=merge -p '{"spec":{"admission":{"failurePolicy":"Ignore"}}}'`,
				in: "endless", says: "patched"},
			{command: `kubectl describe rego NAME`, in: "endless", says: "stopped at its time limit"},
		},
		"admission-overloaded": {},
		"admission-unread":     {},
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
			{command: `evenkeel rollout approve NAME --comment "why"`, in: "unanswered", says: "approve"},
			{command: `kubectl get clusterrolebindings -o wide | grep evenkeel-approver`, says: "dana"},
			{command: `kubectl create -f -`, not: "the next prints the whole line, of which it is the end"},
			{command: `kubectl get remediation NAME -o jsonpath='{.status.message}'`, in: "unanswered too",
				says: "kubectl create -f -"},
			{command: `kubectl get remediationapprovals -o wide`, says: "Approve"},
		},
		"breaker-open": {
			{command: `kubectl get remediationbreakers -o wide`, says: "CanaryFailed"},
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
			{command: `kubectl get pods -n evenkeel-system`, says: "Running"},
			{command: logs + ` --tail=100 --previous | grep 401`, says: "credentials"},
			{command: `kubectl get serviceaccount evenkeel -n evenkeel-system`, says: "evenkeel"},
		},
		"engines-differ": {
			{command: `kubectl get events -A --field-selector reason=EnginesDiffer`, says: "another verdict"},
			{command: `kubectl get rego NAME -o jsonpath='{.status.engine}'`, in: "overridden", says: `"name":`},
		},
		"escalation-failing": {{command: logs + ` | grep -i alertmanager`, says: "127.0.0.1"}},
		"managed-by-other": {
			{command: `kubectl get remediationslices -l evenkeel.dev/policy=POLICY -o json | jq -r '.items[] | [.targets, ` +
				`.records] | transpose[] | select(.[1].proposal) | .[1].proposal'`, in: "managed", says: "good"},
			{command: `kubectl get KIND NAME -n NAMESPACE -o yaml --show-managed-fields`, in: "managed",
				says: "managedFields"},
		},
		"manager-down": {
			{command: `kubectl get pods,leases -n evenkeel-system`, says: "evenkeel-leader"},
			{command: logs + ` --tail=100`, says: "evenkeel"},
		},
		"policy-demoted": {
			{command: `kubectl get remediationbreaker policy-POLICY -o yaml`, in: "demoted", says: "demoted:"},
			{command: `kubectl get remediations`, says: "RolledBack"},
			{command: `evenkeel breaker reset policy-POLICY --reason "the registry is back"`, in: "demoted", says: "reset"},
		},
		"policy-not-compiling": {
			{command: `kubectl patch rego NAME --type=merge -p '{"spec":{"admission":{"failurePolicy":"Ignore"}}}'`,
				in: "no template", says: "patched"},
			{command: `kubectl describe rego NAME`, in: "no template", says: "TemplateNotFound"},
			{command: `evenkeel test DIRECTORY`, in: "broken directory", says: "broken.rego:5", code: 1},
		},
		"policy-overridden": {
			{command: `kubectl get policyoverrides`, says: "Warn"},
			{command: `kubectl get policyoverride NAME -o jsonpath='{.spec.requests}'`, in: "overridden", says: "INC-42"},
			{command: `evenkeel policy override NAME --clear`, in: "overridden", says: "no longer overridden"},
			{command: `evenkeel policy override`, not: "it is only named"},
		},
		"policy-slow": {{command: `kubectl get rego NAME -o jsonpath='{.status.conditions[?(@.type=="Slow")]}'`,
			in: "endless", says: `"status":"True"`}},
		"remediation-failed-targets": {
			{command: slices + ` -o jsonpath='{range .items[*].records[?(@.state=="Failed")]}{.reason}: ` +
				`{.message}{"\n"}{end}'`, in: "failed", says: "FixIneffective: "},
			{command: `evenkeel rollout retry NAME`, in: "failed", says: "again"},
			{command: `evenkeel test DIRECTORY`, in: "broken directory", says: "broken.rego:5", code: 1},
		},
		"remediation-held": {
			{command: `kubectl get remediation NAME -o wide`, in: "no permission", says: "MissingPermissions"},
			{command: `evenkeel rbac --in-force --existing | kubectl apply -f -`, says: "clusterrole", code: 1},
			{command: `evenkeel rollout get NAME`, in: "failed wave", says: "running, not ready"},
			{command: `evenkeel rollout abort NAME`, in: "failed wave", says: "abort"},
			{command: `evenkeel rollout retry NAME`, in: "failed wave too", says: "verified once more"},
			{command: `kubectl get remediations`, says: "Held"},
			{command: `evenkeel rollout override-windows NAME --reason REASON`, in: "outside its window",
				says: "window"},
			{command: `evenkeel rollout resume NAME`, in: "paused", says: "resumed"},
			{command: `kubectl describe rego POLICY`, in: "paused", says: "Compiled"},
		},
		"remediation-no-progress": {
			{command: `kubectl get remediation NAME -o wide`, in: "retrying", says: "unlucky"},
			{command: slices + ` -o jsonpath='{range .items[*].records[?(@.state=="Pending")]}{.reason}: ` +
				`{.message}{"\n"}{end}'`, in: "retrying", says: "Retrying: "},
			{command: `kubectl get remediations`, says: "Held"},
		},
		"remediation-rolled-back": {
			{command: `evenkeel rollout get NAME`, in: "rolled back", says: "running, not ready"},
			{command: `kubectl get remediation NAME -o jsonpath='{range .status.evidence[*]}{.object.name}: ` +
				`{.findings}{"\n"}{end}'`, in: "rolled back", says: "running, not ready"},
			{command: `kubectl get remediation NAME -o wide`, in: "rolled back", says: "VerificationFailed"},
			{command: slices + ` -o jsonpath='{range .items[*].records[?(@.reason)]}{.state} {.reason}: ` +
				`{.message}{"\n"}{end}'`, in: "rolled back", says: "Reverted DeadlineExceeded: "},
			{command: `evenkeel rollout retry NAME`, in: "rolled back", says: "again"},
		},
		"remediation-stuck": {
			{command: `kubectl describe remediation NAME`, in: "stuck", says: "RollingBack"},
			{command: slices + ` -o jsonpath='{range .items[*].records[?(@.message)]}{.state} {.reason}: ` +
				`{.message}{"\n"}{end}'`, in: "stuck", says: "not undone yet"},
		},
		"rollback-incomplete": {{command: slices + ` -o json`, in: "incomplete", says: `"RevertConflict"`}},
		"scan-incomplete":     {{command: `kubectl describe rego NAME`, in: "unserved", says: "Incomplete"}},
		"scan-stale": {
			{command: `kubectl get rego -o wide`, says: "Incomplete"},
			{command: `kubectl get rego -o jsonpath='{range .items[*].status.scan.incomplete[*]}{.kind}: {.message}{"\n"}` +
				`{end}'`, says: "Widget: "},
		},
		"source-failing": {
			{command: `evenkeel source get NAME -n NAMESPACE`, in: "failing source", says: "NotCompiling", code: 1},
			{command: `kubectl describe policysource NAME -n NAMESPACE`, in: "failing source", says: "NotCompiling"},
			{command: `evenkeel test DIRECTORY`, in: "broken directory", says: "broken.rego:5", code: 1},
			{command: `evenkeel source reconcile NAME -n NAMESPACE`, in: "failing source", says: "is to be looked at"},
			{command: `evenkeel policy override POLICY --enforcement Warn --for 2h --reason REASON`,
				in: "source", says: "overridden to Warn"},
		},
		"source-stale": {
			{command: `evenkeel source get NAME -n NAMESPACE`, in: "source", says: "in force"},
			{command: `kubectl get lease evenkeel-leader -n evenkeel-system`, says: "evenkeel-leader"},
			{command: `evenkeel source reconcile NAME -n NAMESPACE --wait`, in: "source", says: "in force"},
		},
		"webhook-certificate-expiring": {
			{command: logs + ` | grep -i certificate`, says: "certificate"},
			{command: `kubectl describe certificates,issuers -n evenkeel-system`, says: "evenkeel-webhook-ca"},
			{command: `kubectl get secrets -n evenkeel-system`, says: "evenkeel-webhook-cert"},
			{command: `cmctl renew -n evenkeel-system evenkeel-webhook`, not: "cert-manager's own command"},
			{command: `kubectl delete secret -n evenkeel-system evenkeel-webhook-cert`, says: "deleted"},
		},
		"webhook-contested": {},
		"webhook-narrowed":  {{command: `evenkeel doctor`, says: "somebody has narrowed an entry", code: 1}},
	}
}
