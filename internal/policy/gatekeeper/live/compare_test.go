// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// audited at is when the audit of these tests began.
func auditTime() time.Time { return time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC) }

func web(message string) Finding {
	return Finding{ObjectKey: ObjectKey{Kind: "Service", Namespace: "shop", Name: "web"}, Message: message}
}

func db(message string) Finding {
	return Finding{ObjectKey: ObjectKey{Kind: "Service", Namespace: "shop", Name: "db"}, Message: message}
}

// before are objects that were written before the audit, and after one that was written at its time.
func before(findings ...Finding) map[ObjectKey]time.Time {
	out := map[ObjectKey]time.Time{}
	for _, f := range findings {
		out[f.ObjectKey] = auditTime().Add(-time.Minute)
	}
	return out
}

func TestWhatBothFindIsCompared(t *testing.T) {
	long := strings.Repeat("x", 252) + "äöü" + strings.Repeat("y", 20)
	cut := long[:253] + "..." // in the middle of a character
	asJSON := strings.ToValidUTF8(cut, "\uFFFD")
	cases := map[string]struct {
		reason       string
		audit        Audit
		own          Own
		want         Verdict
		theirs, ours []Finding
		note         string
	}{
		"nothing by both": {want: Equal},
		"the same": {audit: Audit{Total: 2, Findings: []Finding{web("a"), db("b")}},
			own: Own{Findings: []Finding{db("b"), web("a")}, Written: before(web(""), db(""))}, want: Equal},
		"a message that the audit has cut": {audit: Audit{Total: 1, Findings: []Finding{web(asJSON)}},
			own: Own{Findings: []Finding{web(long)}, Written: before(web(""))}, want: Equal},
		"two details with one message": {reason: "they differ in what isn't compared",
			audit: Audit{Total: 2, Findings: []Finding{web("a"), web("a")}},
			own:   Own{Findings: []Finding{web("a"), web("a")}, Written: before(web(""))}, want: Equal},
		"another message": {audit: Audit{Total: 1, Findings: []Finding{web("a")}},
			own:  Own{Findings: []Finding{web("b")}, Written: before(web(""))},
			want: Different, theirs: []Finding{web("a")}, ours: []Finding{web("b")}},
		"one finds nothing of an object that it looked at": {audit: Audit{Total: 1, Findings: []Finding{web("a")}},
			own: Own{Written: before(web(""))}, want: Different, theirs: []Finding{web("a")}},
		"Gatekeeper finds nothing": {own: Own{Findings: []Finding{web("a")}, Written: before(web(""))},
			want: Different, ours: []Finding{web("a")}},
		"an object that is gone": {audit: Audit{Total: 1, Findings: []Finding{web("a")}},
			want: Unknown, note: "it isn't there any more"},
		"an object that the policy doesn't concern": {audit: Audit{Total: 1, Findings: []Finding{web("a")}},
			own:  Own{Unconcerned: before(web(""))},
			want: Different, theirs: []Finding{web("a")}, note: "Service shop/web: the policy doesn't concern it"},
		"an object that the policy doesn't concern, and was written since": {
			audit: Audit{Total: 1, Findings: []Finding{web("a")}},
			own:   Own{Unconcerned: map[ObjectKey]time.Time{web("").ObjectKey: auditTime()}},
			want:  Unknown, note: "written after Gatekeeper's audit began"},
		"an object that was written since": {
			own:  Own{Findings: []Finding{web("a")}, Written: map[ObjectKey]time.Time{web("").ObjectKey: auditTime()}},
			want: Unknown, note: "written after Gatekeeper's audit began"},
		"an object that was corrected since": {audit: Audit{Total: 1, Findings: []Finding{web("a")}},
			own:  Own{Written: map[ObjectKey]time.Time{web("").ObjectKey: auditTime()}},
			want: Unknown, note: "written after Gatekeeper's audit began"},
		"an object that couldn't be judged": {own: Own{Failed: []Finding{web("timeout")}},
			want: Unknown, note: "couldn't judge it: timeout"},
		"a kind that couldn't be read": {own: Own{Unread: []string{"Services may not be listed"}},
			want: Unknown, note: "Services may not be listed"},
		"a difference beside what isn't known": {audit: Audit{Total: 1, Findings: []Finding{web("a")}},
			own:  Own{Unread: []string{"Pods may not be listed"}, Written: before(web(""))},
			want: Different, theirs: []Finding{web("a")}},
		"no audit yet": {audit: Audit{Unknown: "it hasn't run"}, own: Own{Findings: []Finding{web("a")}},
			want: Unknown, note: "it hasn't run"},
		"a list that is cut, with the same number": {audit: Audit{Total: 2, Findings: []Finding{web("a")}},
			own:  Own{Findings: []Finding{web("a"), db("b")}, Written: before(web(""), db(""))},
			want: Equal, note: "lists 1 of 2 violations"},
		"a list that is cut, with another number": {audit: Audit{Total: 3, Findings: []Finding{web("a")}},
			own:  Own{Findings: []Finding{web("a"), db("b")}, Written: before(web(""), db(""))},
			want: Different, note: "by their number"},
		"a list that is cut, with another number that may be new": {
			audit: Audit{Total: 3, Findings: []Finding{web("a")}},
			own: Own{Findings: []Finding{web("a"), db("b")}, Written: map[ObjectKey]time.Time{
				web("").ObjectKey: auditTime().Add(-time.Minute), db("").ObjectKey: auditTime()}},
			want: Unknown, note: "written after"},
		"a list that is cut, and one of it isn't found": {audit: Audit{Total: 2, Findings: []Finding{web("a")}},
			own:  Own{Findings: []Finding{db("b"), db("c")}, Written: before(web(""), db(""))},
			want: Different, theirs: []Finding{web("a")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.audit.Time = auditTime()
			got := Compare(&tc.audit, &tc.own)
			if got.Verdict != tc.want || !strings.Contains(strings.Join(got.Notes, "\n"), tc.note) {
				t.Errorf("verdict %s with the notes %q, want %s and %q (%s)", got.Verdict, got.Notes, tc.want, tc.note,
					tc.reason)
			}
			if diff := cmp.Diff(tc.theirs, got.OnlyGatekeeper); diff != "" {
				t.Errorf("only Gatekeeper's: %s", diff)
			}
			if diff := cmp.Diff(tc.ours, got.OnlyEvenkeel); diff != "" {
				t.Errorf("only Evenkeel's: %s", diff)
			}
		})
	}
}

// constraintAt is a constraint whose spec was written at a time, with a status.
func constraintAt(at time.Time, status map[string]any) *Constraint {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Teamed", "status": status,
		"metadata": map[string]any{"name": "services", "uid": "u1", "generation": int64(3), "resourceVersion": "7"}}}
	object.SetCreationTimestamp(metav1.NewTime(at.Add(-time.Hour)))
	written, later := metav1.NewTime(at), metav1.NewTime(at.Add(time.Hour))
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl", Time: &written},
		{Manager: "gatekeeper", Subresource: "status", Time: &later}})
	return &Constraint{Object: object}
}

func TestTheAuditCountsWhereItIsNewerThanWhatItAudited(t *testing.T) {
	stamp := auditTime().Format(time.RFC3339)
	violation := map[string]any{"group": "", "version": "v1", "kind": "Service", "namespace": "shop", "name": "web",
		"message": "a", "enforcementAction": "deny"}
	unlisted := map[string]any{"auditTimestamp": stamp, "totalViolations": int64(1)}
	full := map[string]any{"auditTimestamp": stamp, "totalViolations": int64(9), "violations": []any{violation}}
	cases := map[string]struct {
		status          map[string]any
		since, template time.Duration // of the change, before the audit
		unknown         string
	}{
		"it has looked": {status: full, since: time.Minute, template: time.Minute},
		"it counts and lists none": {status: unlisted, since: time.Minute, template: time.Minute,
			unknown: "counts 1 violation and lists none"},
		"it hasn't looked yet": {unknown: "hasn't evaluated it " +
			"yet", since: time.Minute, template: time.Minute},
		"the constraint was changed " +
			"since": {status: full, since: -time.Minute, template: time.Minute, unknown: "older than the last " +
			"change"},
		"the template was changed " +
			"since": {status: full, since: time.Minute, template: -time.Minute, unknown: "older than the " +
			"last change"},
		"the constraint was changed that second": {status: full, template: time.Minute, unknown: "older than the " +
			"last change"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := AuditOf(constraintAt(auditTime().Add(-tc.since), tc.status), auditTime().Add(-tc.template))
			if tc.unknown != "" {
				if !strings.Contains(got.Unknown, tc.unknown) {
					t.Errorf("it says %q, want %q", got.Unknown, tc.unknown)
				}
				return
			}
			want := Audit{Time: auditTime(), Total: 9, Findings: []Finding{web("a")}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if !got.Cut() {
				t.Error("one of nine is no whole list")
			}
		})
	}
}

func TestWhatGatekeepersWebhookAnswersIsRead(t *testing.T) {
	const refused = `admission webhook "validation.gatekeeper.sh" denied the request: `
	cases := map[string]struct {
		refusal  string
		warnings []string
		want     Answer
		others   bool
	}{
		"nothing":    {want: Answer{}},
		"a refusal":  {refusal: refused + "[team] name its team", want: Answer{"team": {"name its team"}}},
		"two of one": {refusal: refused + "[team] a\n[team] b", want: Answer{"team": {"a", "b"}}},
		"of two":     {refusal: refused + "[team] a\n[host] b", want: Answer{"team": {"a"}, "host": {"b"}}},
		"a message of lines": {refusal: refused + "[team] a\nb\n\n[host] " +
			"c", want: Answer{"team": {"a\nb\n"}, "host": {"c"}}},
		"a bracket in a message that is no constraint": {refusal: refused + "[team] a\n[x] b",
			want: Answer{"team": {"a\n[x] b"}}},
		"a message that begins with a bracket": {refusal: refused + "[team] [x] b", want: Answer{"team": {"[x] b"}}},
		"warnings beside a refusal": {refusal: refused + "[team] a", warnings: []string{"[host] b", "v1 is deprecated"},
			want: Answer{"team": {"a"}, "host": {"b"}}},
		"a refusal by somebody else": {refusal: `admission webhook "check.example.com" denied the request: [team] a`,
			others: true},
		"a refusal by the API server": {refusal: "spec.ports: Required value", others: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, theirs := ReadAnswer(tc.refusal, tc.warnings, func(name string) bool {
				return name == "team" || name == "host"
			})
			if diff := cmp.Diff(tc.want, got); diff != "" || theirs == tc.others {
				t.Errorf("Gatekeeper's: %t; %s", theirs, diff)
			}
		})
	}
}
