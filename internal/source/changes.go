// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// changes are what has to be written so that the cluster is as the repository says.
type changes struct {
	// write are the objects to be made or changed, and made those of them that
	// don't exist yet.
	write []object
	made  map[ref]bool
	// remove are the source's objects that have left the repository.
	remove []client.Object
	// held is how many objects of the source are in the cluster.
	held int
	// unclaimed are the objects that aren't the source's to write.
	unclaimed []v1alpha1.SourceProblem
}

func (p *changes) nothing() bool { return len(p.write)+len(p.remove)+len(p.unclaimed) == 0 }

func (p *changes) refs() (made, changed, removed []ref) {
	for _, w := range p.write {
		if p.made[w.ref] {
			made = append(made, w.ref)
			continue
		}
		changed = append(changed, w.ref)
	}
	for _, r := range p.remove {
		removed = append(removed, refTo(r))
	}
	return made, changed, removed
}

// changesOf compares the objects of one kind of a repository with those of the cluster. live
// are all of the cluster's, whoever owns them; inventory are the names that the source
// last held.
func changesOf(want []object, live []client.Object, o owner, inventory []string) (*changes, error) {
	mine := map[string]bool{}
	for _, name := range inventory {
		mine[name] = true
	}
	there := map[string]client.Object{}
	for _, l := range live {
		there[l.GetName()] = l
	}
	out := &changes{made: map[ref]bool{}}
	wanted := map[string]bool{}
	for _, w := range want {
		wanted[w.name] = true
		found := there[w.name]
		if found == nil {
			out.made[w.ref] = true
			out.write = append(out.write, w)
			continue
		}
		if why := claim(found, o, mine); why != "" {
			out.unclaimed = append(out.unclaimed, problemAt(w.dir, 0, why))
			continue
		}
		same, err := inStep(found, w, o)
		if err != nil {
			return nil, err
		}
		if !same {
			out.write = append(out.write, w)
		}
	}
	for _, p := range live {
		if by, _ := namedBy(p.GetLabels()); by != o {
			continue
		}
		out.held++
		if !wanted[p.GetName()] {
			out.remove = append(out.remove, p)
		}
	}
	slices.SortFunc(out.remove, func(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out, nil
}
