// SPDX-License-Identifier: Apache-2.0

package source

import (
	"flag"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/kstatus"
)

var update = flag.Bool("update", false, "write the tables of docs/reference/conditions.md anew")

func TestConditionsOfSources(t *testing.T) {
	const old, newest = "main@sha1:1", "main@sha1:2"
	type source = v1alpha1.PolicySource
	state := func(name, inForce string, suspended bool, seen observation, failed *failure) kstatus.State[*source] {
		src := &source{Status: v1alpha1.PolicySourceStatus{Revision: inForce},
			Spec: v1alpha1.PolicySourceSpec{Interval: metav1.Duration{Duration: time.Hour}, Suspend: suspended}}
		return kstatus.State[*source]{Name: name, Object: src, Set: func(src *source, now time.Time) {
			conclude(src, seen, failed, now)
			// When it is looked at, and how often that failed, is for other tests.
			src.Status = v1alpha1.PolicySourceStatus{Revision: inForce,
				ObservedGeneration: src.Status.ObservedGeneration, Conditions: src.Status.Conditions}
		}}
	}
	applied := observation{asked: true, fetched: true, complete: true, revision: newest, inventory: []string{"a"}}
	fetched := observation{asked: true, fetched: true, revision: newest}
	kstatus.Table(t, *update, []kstatus.State[*source]{
		state("the newest revision is in force", old, false, applied, nil),
		state("the repository can't be reached, and is tried again", old, false, observation{asked: true},
			transient(v1alpha1.ReasonFetchFailed, "no route")),
		state("a policy can't be written, and is tried again", old, false, fetched,
			transient(v1alpha1.ReasonApplyFailed, "refused")),
		state("some file of the newest revision is wrong", old, false, fetched,
			withProblems(v1alpha1.ReasonNotCompiling, []v1alpha1.SourceProblem{problemAt("a.rego", 1, "wrong")})),
		state("the newest revision isn't signed as it must be", old, false, fetched,
			stalled(v1alpha1.ReasonSignatureInvalid, "not signed")),
		state("its namespace isn't accepted", "", false, observation{},
			stalled(v1alpha1.ReasonNamespaceNotAllowed, "not here")),
		state("a person has suspended it; a revision is in force", old, true, observation{}, nil),
		state("a person has suspended it; nothing is in force yet", "", true, observation{}, nil),
	})
}
