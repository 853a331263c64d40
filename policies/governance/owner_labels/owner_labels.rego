# METADATA
# scope: package
# title: Workloads and Services must name their owner
# description: |
#   The engineer on call must find out from the object whom to call. Put the labels of parameters.labels on the
#   object itself, each with a value that its regular expression allows in full. Without parameters.labels every object
#   violates, so that a policy set up by halves shows. The fix adds a missing label where parameters.defaults has an
#   allowed value for it, and only if that fixes the whole object; a wrong value is somebody's statement and stays.
# organizations:
#   - platform-governance
# related_resources:
#   - ref: https://evenkeel.dev/docs/policies/owner-labels
#     description: Runbook
# custom:
#   id: owner-labels
#   severity: Low
#   admission: {action: Warn}
#   match:
#     kinds:
#       - apiGroups: [apps]
#         kinds: [Deployment, StatefulSet, DaemonSet]
#       - apiGroups: [batch]
#         kinds: [CronJob]
#       - apiGroups: [""]
#         kinds: [Service]
#     excludedNamespaces: [kube-system]
#   parameters:
#     labels:
#       evenkeel.dev/owner: "[a-z][a-z0-9-]{1,40}"
#     defaults: {}
#   remediation:
#     mode: DryRun
package evenkeel.governance.owner_labels

import data.evenkeel.lib.patch
import rego.v1

deny contains {"msg": msg, "path": label_path(key)} if {
	some key in missing
	msg := sprintf("label %q is missing: set it to a value that matches %q", [key, required[key]])
}

deny contains {"msg": msg, "path": label_path(key)} if {
	some key in wrong
	msg := sprintf("label %q has the value %q: set it to a value that matches %q", [key, labels[key], required[key]])
}

deny contains "the policy requires no label: set parameters.labels of Policy owner-labels" if {
	count(required) == 0
}

remediation contains patch.action(ops) if {
	count(missing) > 0
	count(wrong) == 0
	every key in missing {
		matches(key, defaults[key])
	}
	ops := patch.merge(input.object, [], {"metadata": {"labels": {key: defaults[key] | some key in missing}}})
}

missing contains key if {
	some key, _ in required
	not labels[key]
}

wrong contains key if {
	some key, value in labels
	required[key]
	not matches(key, value)
}

matches(key, value) if regex.match(concat("", ["^(?:", required[key], ")$"]), value)

label_path(key) := patch.pointer(["metadata", "labels", key])

labels := object.get(input.object, ["metadata", "labels"], {})

required := object.get(input.parameters, "labels", {})

defaults := object.get(input.parameters, "defaults", {})
