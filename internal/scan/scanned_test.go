// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

var (
	configMaps = schema.GroupKind{Kind: "ConfigMap"}
	epoch      = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// scanned is an Index of policies on one kind, ConfigMap.
type scanned struct {
	*index.Index
	tallies map[string]*index.Tally
}

// newScanned puts the policies in force.
func newScanned(defs ...index.Definition) *scanned {
	revisions := map[string]string{}
	for _, d := range defs {
		revisions[d.Name] = d.Revision
	}
	f := &scanned{Index: index.New(index.Options{Clock: clock.RealClock{}, InForce: func(name string) (string, bool) {
		r, ok := revisions[name]
		return r, ok
	}})}
	byKind, _ := f.SetPolicies(defs)
	f.tallies = byKind[configMaps]
	return f
}

// pass records a full pass and marks the kind as listed.
func (f *scanned) pass(objects ...*index.Judged) {
	list := index.NewList()
	for _, j := range objects {
		list.Put(j)
	}
	f.Replace(configMaps, "v1", list)
	f.MarkListed(configMaps, f.tallies, epoch)
}

// complies is an object without a violation of any policy.
func (f *scanned) complies(name string) *index.Judged {
	var clean []*index.Tally
	for _, t := range f.tallies {
		clean = append(clean, t)
	}
	return &index.Judged{Key: index.KeyOf("ns", name), Record: new(index.Shared).Record(clean, nil, "", "", "")}
}

// violates is an object that violates every policy.
func (f *scanned) violates(name string) *index.Judged {
	var faults []index.Fault
	for _, t := range f.tallies {
		faults = append(faults, index.Fault{Tally: t, Violations: 1, Message: "bad"})
	}
	return &index.Judged{Key: index.KeyOf("ns", name),
		Record: new(index.Shared).Record(nil, faults, index.KeyOf("ns", name), "uid-"+name, "7")}
}

// inForce is a policy in force, as the Index knows it.
func inForce(name, revision string) index.Definition {
	return index.Definition{Name: name, Revision: revision, Severity: v1alpha1.SeverityHigh,
		Kinds: []schema.GroupKind{configMaps}}
}

func violating(name string) policy.Finding {
	return policy.Finding{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: name,
		UID: "uid-" + name, ResourceVersion: "7", Violations: 1, Message: "bad"}
}
