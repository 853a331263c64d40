// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// changes are what has to be written so that the cluster is as the repository says.
type changes struct {
	// write are the policies to be made or changed, and made those of them that
	// don't exist yet.
	write []directory.Located
	made  map[string]bool
	// remove are the source's policies that have left the repository.
	remove []v1alpha1.ClusterRegoPolicy
	// held is how many policies of the source are in the cluster.
	held int
	// unclaimed are the policies that aren't the source's to write.
	unclaimed []v1alpha1.SourceProblem
}

func (p *changes) nothing() bool { return len(p.write)+len(p.remove)+len(p.unclaimed) == 0 }

func (p *changes) names() (made, changed, removed []string) {
	for _, w := range p.write {
		if p.made[w.Definition.Name] {
			made = append(made, w.Definition.Name)
			continue
		}
		changed = append(changed, w.Definition.Name)
	}
	for _, r := range p.remove {
		removed = append(removed, r.Name)
	}
	return made, changed, removed
}

// changesOf compares the policies of a repository with those of the cluster. live are
// all of the cluster's, whoever owns them; inventory are the names that the source
// last held.
func changesOf(want []directory.Located, live []v1alpha1.ClusterRegoPolicy, o owner, inventory []string) (
	*changes, error) {
	mine := map[string]bool{}
	for _, name := range inventory {
		mine[name] = true
	}
	there := map[string]*v1alpha1.ClusterRegoPolicy{}
	for i := range live {
		there[live[i].Name] = &live[i]
	}
	out := &changes{made: map[string]bool{}}
	wanted := map[string]bool{}
	for _, w := range want {
		name := w.Definition.Name
		wanted[name] = true
		found := there[name]
		if found == nil {
			out.made[name] = true
			out.write = append(out.write, w)
			continue
		}
		if why := claim(found, o, mine); why != "" {
			out.unclaimed = append(out.unclaimed, problemAt(w.Dir, 0, why))
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
		if by, _ := namedBy(p.Labels); by != o {
			continue
		}
		out.held++
		if !wanted[p.Name] {
			out.remove = append(out.remove, p)
		}
	}
	slices.SortFunc(out.remove, func(a, b v1alpha1.ClusterRegoPolicy) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
