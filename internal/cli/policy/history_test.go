// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/test/recorded"
)

// TestTheHistoryOfOverridesTellsWhoAskedForWhatAndWhy of one policy or of all, and keeps a mistyped name from passing
// for a policy that nobody has overridden.
func TestTheHistoryOfOverridesTellsWhoAskedForWhatAndWhy(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	record := func(minute int, action v1alpha1.RequestAction, user, why string) v1alpha1.RequestRecord {
		return v1alpha1.RequestRecord{Action: action, User: user, Reason: why,
			RequestTime: metav1.NewTime(time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC))}
	}
	override := func(name string, records ...v1alpha1.RequestRecord) *v1alpha1.PolicyOverride {
		o := &v1alpha1.PolicyOverride{ObjectMeta: metav1.ObjectMeta{Name: name}}
		recorded.Requests(o, records...)
		return o
	}
	calm := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "calm"}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(calm,
		override("tags", record(1, v1alpha1.ActionOverride, "ann", "INC-42"),
			record(9, v1alpha1.ActionOverride, "bob", "")),
		override("quotas", record(5, v1alpha1.ActionOverride, "cid", "INC-43"))).Build()
	tags := []string{"tags 2026-03-01 12:01:00Z Override ann INC-42", "tags 2026-03-01 12:09:00Z Override bob -"}
	const head, quotas = "POLICY WHEN ASKED FOR BY WHY", "quotas 2026-03-01 12:05:00Z Override cid INC-43"
	for name, tc := range map[string]struct {
		args []string
		want []string
		err  string
	}{
		"of one": {args: []string{"tags"}, want: []string{head, tags[0], tags[1]}},
		"of all": {want: []string{head, quotas, tags[0], tags[1]}},
		"of one without any": {args: []string{"calm"},
			want: []string{"Nobody has overridden a policy: evenkeel policy override NAME does so."}},
		"of one that isn't there": {args: []string{"tgas"},
			err: `"tgas" not found; those that are there: kubectl get rego`},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := overridesOf(t.Context(), c, tc.args)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := printHistory(list.Items, &out); err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				got = append(got, strings.Join(strings.Fields(line), " "))
			}
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
	list, err := overridesOf(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var read v1alpha1.PolicyOverrideList
	err = (&output.Flag{Format: output.JSON}).Objects(&out, list, nil)
	if err != nil || json.Unmarshal(out.Bytes(), &read) != nil || len(read.Items) != 2 ||
		v1alpha1.Requests(&read.Items[1])[0].User != "ann" {
		t.Errorf("-o json: %v\n%s", err, out.String())
	}
}
