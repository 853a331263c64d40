// SPDX-License-Identifier: Apache-2.0

package override

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/recorded"
)

func at(offset time.Duration) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(offset)
}

// asked is a record of a request.
func asked(action v1alpha1.RequestAction, offset time.Duration) v1alpha1.RequestRecord {
	return v1alpha1.RequestRecord{Action: action, User: "jane", RequestTime: metav1.NewTime(at(offset)),
		Reason: "INC-42"}
}

// softened is an override to an action, asked for at 12:00, until 14:00.
func softened(changes ...func(*v1alpha1.PolicyOverride)) *v1alpha1.PolicyOverride {
	o := &v1alpha1.PolicyOverride{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.PolicyOverrideSpec{
		PolicyUID: "1", AdmissionAction: v1alpha1.AdmissionWarn,
		ExpirationTime: metav1.NewTime(at(2 * time.Hour)),
	}}
	recorded.Requests(o, asked(v1alpha1.ActionOverride, 0))
	for _, change := range changes {
		change(o)
	}
	return o
}

func until(offset time.Duration) func(*v1alpha1.PolicyOverride) {
	return func(o *v1alpha1.PolicyOverride) { o.Spec.ExpirationTime = metav1.NewTime(at(offset)) }
}

func requests(of ...v1alpha1.RequestRecord) func(*v1alpha1.PolicyOverride) {
	return func(o *v1alpha1.PolicyOverride) { recorded.Requests(o, of...) }
}

func TestAnOverrideIsInForceUntilItsEndAndNoLonger(t *testing.T) {
	const day = 24 * time.Hour
	cases := map[string]struct {
		reason   string
		override *v1alpha1.PolicyOverride
		uid      string
		now      time.Duration
		want     string
		until    time.Duration
	}{
		"from the moment that it is asked for": {override: softened(), want: v1alpha1.ReasonAccepted,
			until: 2 * time.Hour},
		"up to the last moment before its end": {override: softened(), now: 2*time.Hour - time.Nanosecond,
			want: v1alpha1.ReasonAccepted, until: 2 * time.Hour},
		"not at its end": {override: softened(), now: 2 * time.Hour, want: v1alpha1.ReasonExpired},
		"not long after": {override: softened(), now: 900 * day, want: v1alpha1.ReasonExpired},
		"a clock that is a little behind who has asked": {override: softened(), now: -time.Minute,
			want: v1alpha1.ReasonAccepted, until: 2 * time.Hour},
		"no longer than seven days after it was asked for": {override: softened(until(900 * day)), now: day,
			want: v1alpha1.ReasonAccepted, until: 7 * day},
		"whoever has got a later end past admission gains nothing": {override: softened(until(900 * day)), now: 7 * day,
			want: v1alpha1.ReasonExpired},
		"asked for again, it counts from then": {override: softened(until(9*day), requests(
			asked(v1alpha1.ActionOverride, 0), asked(v1alpha1.ActionOverride, 3*day))), now: 8 * day,
			want: v1alpha1.ReasonAccepted, until: 9 * day},
		"not once a person has deleted it": {override: softened(
			func(o *v1alpha1.PolicyOverride) { o.DeletionTimestamp = &metav1.Time{Time: at(0)} }),
			want: v1alpha1.ReasonDeleting},
		"not when admission has seen nobody ask": {override: softened(requests()),
			want: v1alpha1.ReasonRequesterUnknown},
		"not of a policy that was made anew under the name": {override: softened(), uid: "2",
			want: v1alpha1.ReasonPolicyNotFound},
		"not where what is stored can't be read": {override: softened(func(o *v1alpha1.PolicyOverride) {
			o.Annotations = map[string]string{v1alpha1.AnnotationMalformed: "spec"}
		}), want: v1alpha1.ReasonInvalid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Policy{UID: "1", Declared: v1alpha1.AdmissionDeny}
			if tc.uid != "" {
				p.UID = "2"
			}
			if got := why(tc.override, p.UID, at(tc.now)); got != tc.want {
				t.Errorf("%s: it is %s, want %s", tc.reason, got, tc.want)
			}
			var want *Override
			if tc.want == v1alpha1.ReasonAccepted {
				want = &Override{Declared: v1alpha1.AdmissionDeny, Action: v1alpha1.AdmissionWarn,
					Until: at(tc.until), User: "jane", Reason: "INC-42"}
			}
			if diff := cmp.Diff(want, InForce(tc.override, p, at(tc.now))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if got := InForce(nil, Policy{UID: "1"}, at(0)); got != nil {
		t.Errorf("where there is none, %v is in force", got)
	}
	if got := InForce(softened(), Policy{}, at(0)); got != nil {
		t.Errorf("where there is no policy, %v is in force", got)
	}
}

func TestAnOverrideOnlySoftens(t *testing.T) {
	const deny, warn, audit = v1alpha1.AdmissionDeny, v1alpha1.AdmissionWarn, v1alpha1.AdmissionAudit
	want := map[[2]v1alpha1.AdmissionAction]v1alpha1.AdmissionAction{
		{deny, deny}: deny, {deny, warn}: warn, {deny, audit}: audit,
		{warn, deny}: warn, {warn, warn}: warn, {warn, audit}: audit,
		{audit, deny}: audit, {audit, warn}: audit, {audit, audit}: audit,
		{deny, ""}: deny, {warn, "Scream"}: warn,
	}
	for pair, action := range want {
		if got := Softer(pair[0], pair[1]); got != action {
			t.Errorf("%s overridden to %q is %s, want %s", pair[0], pair[1], got, action)
		}
	}
}

func TestAnOverrideSaysWhatIsSo(t *testing.T) {
	deny := Policy{UID: "1", Declared: v1alpha1.AdmissionDeny}
	const want = "admission action Deny is overridden to Warn until 2026-03-01T14:00:00Z by jane (INC-42)"
	if got := InForce(softened(), deny, at(0)).String(); got != want {
		t.Errorf("it says %q", got)
	}
	kept := softened(func(o *v1alpha1.PolicyOverride) { o.Spec.AdmissionAction = v1alpha1.AdmissionDeny })
	const keeps = "admission action Deny stays as it is, and no write of its plans begins, until " +
		"2026-03-01T14:00:00Z by jane (INC-42)"
	if got := InForce(kept, deny, at(0)).String(); got != keeps {
		t.Errorf("it says %q", got)
	}
}

func TestWhatAdmissionCantHaveRecordedOverridesNothing(t *testing.T) {
	deleted := metav1.NewTime(at(0))
	for name, change := range map[string]func(*v1alpha1.PolicyOverride){
		"a record of a time to come": func(o *v1alpha1.PolicyOverride) {
			recorded.Requests(o, []v1alpha1.RequestRecord{asked(v1alpha1.ActionOverride, 87600*time.Hour)}...)
			o.Spec.ExpirationTime = metav1.NewTime(at(87601 * time.Hour))
		},
		"one that is being deleted, whatever finalizer keeps it": func(o *v1alpha1.PolicyOverride) {
			o.DeletionTimestamp, o.Finalizers = &deleted, []string{"example.com/keep"}
		},
	} {
		of := Policy{UID: "1", Declared: v1alpha1.AdmissionDeny}
		if in := InForce(softened(change), of, at(time.Hour)); in != nil {
			t.Errorf("%s: it overrides: %s", name, in)
		}
	}
}

func TestAnOverrideIsToldOnOneLine(t *testing.T) {
	in := &Override{Declared: v1alpha1.AdmissionDeny, Action: v1alpha1.AdmissionWarn, Until: at(0),
		User: "jane\x1b[31m", Reason: "a\nb"}
	if text := in.String(); strings.ContainsAny(text, "\x1b\n") {
		t.Errorf("told as %q", text)
	}
}
