// SPDX-License-Identifier: Apache-2.0

package review

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// withoutPath is privilegedRego as a rule that says nowhere where.
const withoutPath = `package evenkeel.test.pathless

deny contains "a container is privileged" if {
	some c in input.pod.spec.containers
	c.securityContext.privileged
}
`

func TestExistingViolationsExcuseOnlyWhatIsUnchanged(t *testing.T) {
	container := func(o tree, i int) tree {
		return o["spec"].(tree)["template"].(tree)["spec"].(tree)["containers"].([]any)[i].(tree)
	}
	cases := map[string]struct {
		reason string
		rego   string
		change func(tree)
		user   string
		want   string // part of the refusal; empty when it passes
	}{
		"another image of the privileged container": {
			reason: "whoever may patch a workload would run anything with the old privilege",
			change: func(o tree) {
				container(o, 0)["image"] = "evil"
			}, want: "It violated this before, but what violates has been changed",
		},
		"another command of the privileged container": {change: func(o tree) {
			container(o, 0)["command"] = []any{"sh"}
		}, want: `container "a" is privileged`},
		"another image of another container": {reason: "a hotfix", change: func(o tree) {
			container(o, 1)["image"] = "app:2"
		}},
		"more replicas": {reason: "a hotfix", change: func(o tree) {
			o["spec"].(tree)["replicas"] = int64(9)
		}},
		"a label": {reason: "a hotfix", change: func(o tree) {
			webhooktest.Set(o, tree{"x": "y"}, "metadata", "labels")
		}},
		"the privilege moves to another container": {reason: "there it is new", change: func(o tree) {
			container(o, 0)["securityContext"], container(o, 1)["securityContext"] = tree{}, tree{"privileged": true}
		}, want: `container "b" is privileged`},
		"another image where the rule gives no path": {reason: "any may be the privileged one", rego: withoutPath,
			change: func(o tree) { container(o, 1)["image"] = "app:2" }, want: "a container is privileged"},
		"more replicas where the rule gives no path": {rego: withoutPath, change: func(o tree) {
			o["spec"].(tree)["replicas"] = int64(9)
		}},
		"a fix of the manager's own": {
			reason: "it was judged before it was sent, and else two policies could keep each other from being met",
			change: func(o tree) { container(o, 0)["image"] = "app@sha256:1" }, user: "manager",
		},
		"a fix of the manager's own that adds a violation": {reason: "that is never an old one", change: func(o tree) {
			container(o, 1)["securityContext"] = tree{"privileged": true}
		}, user: "manager", want: `container "b" is privileged`},
		"somebody under the manager's field manager": {
			reason: "anybody can name a field manager", change: func(o tree) {
				container(o, 0)["image"] = "evil"
			}, user: "mallory", want: "is privileged"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.rego == "" {
				tc.rego = webhooktest.PrivilegedRego
			}
			h := newHandler(t, v1alpha1.FailurePolicyFail,
				webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", tc.rego)))
			h.Self = "manager"
			after := webhooktest.Deployment("web", true, false)
			tc.change(after)
			got := webhooktest.Ask(t, h,
				webhooktest.Review("UPDATE", after, webhooktest.Deployment("web", true, false), func(r tree) {
					if tc.user != "" {
						r["userInfo"], r["options"] = tree{"username": tc.user},
							tree{"fieldManager": v1alpha1.FieldManager}
					}
				}))
			switch {
			case tc.want == "" && !got.Allowed:
				t.Errorf("%s: refused: %s", tc.reason, got.Status.Message)
			case tc.want != "" && (got.Allowed || !strings.Contains(got.Status.Message, tc.want)):
				t.Errorf("%s: want a refusal with %q, got %+v", tc.reason, tc.want, got)
			}
		})
	}
}
