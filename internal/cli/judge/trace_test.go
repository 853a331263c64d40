// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/test/commandline"
)

// traced are two Pods, of which one violates, and a Secret with a value that nobody is to read.
const traced = `apiVersion: v1
kind: Pod
metadata: {name: bad, namespace: shop, annotations: {tier: low}}
spec: {containers: [{name: app, image: app:1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: good, namespace: shop, annotations: {tier: high}}
spec: {containers: [{name: app, image: app:1}]}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: shop, annotations: {tier: low}}
stringData: {tier: correct-horse-battery-staple}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: unconcerned, namespace: shop}
`

const tracingPolicy = `# METADATA
# scope: package
# title: T
# description: D
# organizations: [o]
# related_resources: [{ref: "https://example.com/", description: runbook}]
# custom:
#   id: tier
#   severity: Low
#   admission: {action: Warn}
#   match: {kinds: [{apiGroups: [""], kinds: [Pod, Secret]}]}
package tier

import rego.v1

deny contains sprintf("tier %v", [tier]) if {
	tier := input.object.metadata.annotations.tier
	secret := object.get(input.object, ["stringData", "tier"], "")
	secret != "public"
	tier != "high"
}
`

// Who asks for a trace is told how each policy was evaluated on each object, in the order of the manifests, beside the
// same report; and never a value of a Secret.
func TestCheckTraces(t *testing.T) {
	dir := commandline.Folder(t, map[string]string{"tier/tier.rego": tracingPolicy})
	manifests := filepath.Join(commandline.Folder(t, map[string]string{"all.yaml": traced}), "all.yaml")
	want, _, _ := commandline.Invoke(t, newCheckCommand(), "-p", dir, "-o", "json", manifests)
	out, _, _ := commandline.Invoke(t, newCheckCommand(), "-p", dir, "-o", "json", "--trace", manifests)
	trace, same := strings.CutSuffix(out, want)
	if !same {
		t.Errorf("with a trace the report is another one:\n%s\nthan without:\n%s", out, want)
	}
	if strings.Contains(want, "trace:") {
		t.Errorf("nobody asked for a trace:\n%s", want)
	}
	rest := trace
	for _, next := range []string{
		"trace: policy tier on Pod shop/bad\nrule deny\n", `{tier: "low"}`, "Exit",
		"trace: policy tier on Pod shop/good\n", `{tier: "high"}`, `Fail neq(tier, "high")`,
		"trace: policy tier on Secret shop/key\n",
		"trace: no policy concerns ConfigMap shop/unconcerned\n",
	} {
		_, after, found := strings.Cut(rest, next)
		if !found {
			t.Fatalf("the trace lacks %q, or has it elsewhere:\n%s", next, trace)
		}
		rest = after
	}
	if strings.Contains(trace, "battery") || strings.Contains(trace, "correct-horse") {
		t.Errorf("the trace tells a value of a Secret:\n%s", trace)
	}
}
