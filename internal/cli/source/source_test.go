// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// A manager that is stopped leaves its last word in the cluster; no format may pass it on as how things are.
func TestASourceThatNobodyAsksForIsntReady(t *testing.T) {
	const hint = "the manager was to ask the repository again 3h ago, and hasn't: is it running? See: evenkeel doctor"
	for name, tc := range map[string]struct {
		due                       time.Duration // from now
		output                    string
		out, notOut, note, failed string
	}{
		"in a table, while the manager is at work": {due: time.Minute, output: "table", out: "True"},
		"in a table, while the manager is stopped": {due: -3 * time.Hour, output: "table",
			out: hint + ". It said last: revision", notOut: "True", failed: "1 of 1 source isn't ready"},
		"as JSON, while the manager is at work": {due: time.Minute, output: "json", out: `"status": "True"`},
		"as JSON, while the manager is stopped": {due: -3 * time.Hour, output: "json", out: `"status": "True"`,
			note:   "warning: the conditions of policy source evenkeel-system/rules are out of date: " + hint,
			failed: "1 of 1 source isn't ready"},
		"by name, while the manager is stopped": {due: -3 * time.Hour, output: "name",
			out: "policysource.evenkeel.dev/rules", note: hint, failed: "1 of 1 source isn't ready"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			src := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel-system", Name: "rules",
				CreationTimestamp: metav1.Now()}}
			src.Status.Conditions = kube.Ready(v1alpha1.ReasonApplied,
				"revision main@sha1:0123 is in force: 3 policies")
			src.Status.NextAttemptTime = &metav1.Time{Time: time.Now().Add(tc.due)}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(src).Build()

			var out, errs strings.Builder
			cmd := &cobra.Command{}
			cmd.SetOut(&out)
			cmd.SetErr(&errs)
			err := listSources(t.Context(), c, "evenkeel-system", tc.output, cmd)
			if (err == nil) != (tc.failed == "") || err != nil && !strings.Contains(err.Error(), tc.failed) {
				t.Errorf("it ends with %v, want %q", err, tc.failed)
			}
			if !strings.Contains(out.String(), tc.out) || tc.notOut != "" && strings.Contains(out.String(), tc.notOut) {
				t.Errorf("it prints\n%s\nwant %q, and not %q", out.String(), tc.out, tc.notOut)
			}
			if got := errs.String(); !strings.Contains(got, tc.note) || tc.note == "" && got != "" {
				t.Errorf("it says beside that %q, want %q", got, tc.note)
			}
		})
	}
}
